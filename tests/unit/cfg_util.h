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
#include <string.h>

#include "limactl-c/config/config.h"

#define IMAGE "images: [{location: /a.img, arch: x86_64}]\n"

static const struct cfg_host cfg_test_host = {
	.arch = "x86_64",
	.user = "jane",
	.comment = "Jane Doe",
	.uid = 1000,
	.cpus = 8,
	.memory = (uint64_t)16 << 30,
};

struct loaded {
	struct cfg cfg;
	struct buf findings;
	struct err e;
	int rc;
};

static inline struct loaded load(const char *text, const struct cfg_host *h)
{
	struct loaded l = { .findings = BUF_INIT(1 << 20) };

	l.rc = cfg_load("t.yaml", text, strlen(text), h, &l.cfg, &l.findings, &l.e);
	return l;
}

static inline void unload(struct loaded *l)
{
	if (l->rc == 0)
		cfg_free(&l->cfg);
	buf_free(&l->findings);
}
#define auto_loaded CLEANUP(unload) struct loaded

/* The text is right; what is wrong is shown. */
static inline struct loaded load_ok(const char *text)
{
	struct loaded l = load(text, &cfg_test_host);

	if (l.rc)
		print_error("%s", l.findings.data);
	assert_int_equal(l.rc, 0);
	return l;
}

/* The text is refused with exactly these lines. */
static inline void assert_findings(const char *text, const char *wanted)
{
	auto_loaded l = load(text, &cfg_test_host);

	assert_int_equal(l.rc, -1);
	assert_string_equal(l.findings.data, wanted);
}

/* The text is refused, and one of the lines says this. */
static inline void assert_finding(const char *text, const char *part)
{
	auto_loaded l = load(text, &cfg_test_host);

	if (l.rc == 0 || !strstr(l.findings.data, part))
		print_error("%s\nhas no \"%s\" but\n%s", text, part,
			    l.findings.data ? l.findings.data : "(none)");
	assert_int_equal(l.rc, -1);
	assert_non_null(strstr(l.findings.data, part));
}

#endif
