/* cfg_util.h - a template's text loaded the way the command line does, for the configuration's
 * tests. */
#ifndef LIMA_TESTS_CFG_UTIL_H
#define LIMA_TESTS_CFG_UTIL_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka wants these first */
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "limactl-c/config/config.h"

#define IMAGE "images: [{location: /a.img, arch: x86_64}]\n"

static const struct cfg_host cfg_test_host = {
	.arch = "x86_64",
	.user = "jane",
	.comment = "Jane Doe",
	.home = "/home/jane",
	.timezone = "Asia/Tokyo",
	.machine_id = "0123456789abcdef0123456789abcdef",
	.uid = 1000,
	.cpus = 8,
	.memory = (uint64_t)16 << 30,
};

struct loaded {
	struct cfg cfg;
	struct findings f;
	char *lines; /* of the findings, "warning: " before those that are */
	bool ok;
};

static inline struct loaded read_input(const struct cfg_input *in)
{
	auto_buf lines = BUF_INIT(1 << 20);
	struct loaded l = { 0 };

	l.ok = cfg_read(in, &l.cfg, &l.f);
	findings_sort(&l.f);
	for (size_t i = 0; i < l.f.count; i++) {
		auto_free char *line = finding_line(&l.f.item[i]);

		buf_addf(&lines, "%s%s\n", l.f.item[i].warning ? "warning: " : "", line);
	}
	l.lines = strdup(lines.data ? lines.data : "");
	assert_non_null(l.lines);
	return l;
}

static inline struct cfg_input input_of(const char *text)
{
	return (struct cfg_input){ .instance = { "t.yaml", text, strlen(text) },
				   .host = &cfg_test_host,
				   .name = "box",
				   .dir = "/home/jane/.lima/box",
				   .lima_home = "/home/jane/.lima" };
}

static inline struct loaded load(const char *text, const struct cfg_host *h)
{
	struct cfg_input in = input_of(text);

	in.host = h;
	return read_input(&in);
}

static inline void unload(struct loaded *l)
{
	cfg_free(&l->cfg);
	findings_fini(&l->f);
	free(l->lines);
}
#define auto_loaded CLEANUP(unload) struct loaded

/* The text is right; what is wrong is shown. */
static inline struct loaded load_ok(const char *text)
{
	struct loaded l = load(text, &cfg_test_host);

	if (!l.ok)
		print_error("%s%s", l.lines, text);
	assert_true(l.ok);
	return l;
}

/* The text is refused with exactly these lines. */
static inline void assert_findings(const char *text, const char *wanted)
{
	auto_loaded l = load(text, &cfg_test_host);

	assert_false(l.ok);
	assert_string_equal(l.lines, wanted);
}

/* The text is refused, and one of the lines says this. */
static inline void assert_finding(const char *text, const char *part)
{
	auto_loaded l = load(text, &cfg_test_host);

	if (l.ok || !strstr(l.lines, part))
		print_error("%s\nhas no \"%s\" but\n%s", text, part, l.lines);
	assert_false(l.ok);
	assert_non_null(strstr(l.lines, part));
}

#endif
