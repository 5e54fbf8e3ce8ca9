/* Any texts as a template and as the override over it: no crash, bounded work, errors exactly when it is refused; what
 * is accepted survives a dump. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "limactl-c/config/config.h"
#include "tests/unit/cfg_dump.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static const struct cfg_host host = {
	.arch = "x86_64",
	.user = "u",
	.comment = "",
	.home = "/home/u",
	.uid = 1000,
	.cpus = 2,
	.memory = (uint64_t)8 << 30,
};

static void must(int yes)
{
	if (!yes)
		abort();
}

static bool read_texts(struct cfg_text instance, struct cfg_text override, struct cfg *c)
{
	const struct cfg_input in = {
		.instance = instance,
		.override = override,
		.host = &host,
		.name = "x",
		.dir = "/l/x",
		.lima_home = "/l",
	};
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

	/* Braces a template left behind would be filled now. */
	if (strstr(first, "{{"))
		return;
	must(read_texts((struct cfg_text){ "dump", first, strlen(first) }, (struct cfg_text){ 0 }, &again));
	auto_free char *second = cfg_dump(&again);

	must(!strcmp(first, second));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	/* A form feed, which YAML forbids, parts the texts. */
	const char *text = (const char *)data, *part = len ? memchr(text, '\f', len) : NULL;
	size_t first = part ? (size_t)(part - text) : len;
	struct cfg_text override = { "override", part ? part + 1 : NULL, part ? len - first - 1 : 0 };
	auto_cfg c = { 0 };

	if (read_texts((struct cfg_text){ "fuzz", len ? text : "", first }, override, &c))
		dump_is_a_fixed_point(&c);
	return 0;
}
