/* Any text as a template: no crash, bounded work; what is accepted survives a dump, and a value set
 * in it is found. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "limactl-c/config/config.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static const struct cfg_host host = {
	.arch = "x86_64",
	.user = "u",
	.comment = "",
	.uid = 1000,
	.cpus = 2,
	.memory = (uint64_t)8 << 30,
};

static void must(int yes)
{
	if (!yes)
		abort();
}

static bool read_text(const char *name, const char *text, size_t len, struct cfg *c)
{
	const struct cfg_input in = { .instance = { name, text, len }, .host = &host, .name = "x", .dir = "/l/x" };
	struct findings f = { 0 };
	bool ok = cfg_read(&in, c, &f);

	must(ok == !f.errors);
	findings_fini(&f);
	return ok;
}

static void dump_is_a_fixed_point(const struct cfg *c)
{
	auto_free char *first = cfg_dump(c);
	auto_cfg again = { 0 };

	must(read_text("dump", first, strlen(first), &again));
	auto_free char *second = cfg_dump(&again);

	must(!strcmp(first, second));
}

static void a_value_set_is_found(const char *text, size_t len)
{
	auto_cfg c = { 0 };
	struct err e;
	auto_free char *set = cfg_text_set(text, len, "cpus", "7", &e);

	/* The rest of the text may still be wrong in other ways. */
	if (set && read_text("set", set, strlen(set), &c))
		must(c.cpus == 7);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static const struct cfg_var vars[] = { { "Name", "a-long-name-of-an-instance" }, { "Dir", "" } };
	auto_free char *text = malloc(len + 1);
	struct cfg c;

	must(text != NULL);
	memcpy(text, data, len);
	text[len] = '\0';
	if (read_text("fuzz", text, len, &c)) {
		dump_is_a_fixed_point(&c);
		cfg_free(&c);
	}
	a_value_set_is_found(text, len);
	free(cfg_expand(text, vars, 2));
	return 0;
}
