/* A template, a NUL byte, JSON: no crash, an end within the bounds, the same answer twice, and errors with a line of the
 * template. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "limactl-c/gotmpl/gotmpl.h"
#include "limactl-c/yaml/parse.h"

enum { OUT_MAX = 1 << 20 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void must(bool ok)
{
	if (!ok)
		abort();
}

static unsigned lines_of(const char *text, size_t len)
{
	unsigned n = 1;

	for (size_t i = 0; i < len; i++)
		n += text[i] == '\n';
	return n;
}

static void render(const char *text, size_t len, const struct ynode *data, const struct gotmpl_options *o)
{
	auto_buf one = BUF_INIT(OUT_MAX), two = BUF_INIT(OUT_MAX);
	struct err e = { 0 };
	unsigned line = 0;
	int rc = gotmpl_render(text, len, data, o, &one, &line, &e);

	must(rc == gotmpl_render(text, len, data, o, &two, NULL, &e));
	must(one.len == two.len && (!one.len || !memcmp(one.data, two.data, one.len)));
	if (rc < 0)
		must(*e.msg && line >= 1 && line <= lines_of(text, len) && !one.len);
	else if (!memmem(text, len, "{{", 2))
		must(one.len == len && (!len || !memcmp(one.data, text, len)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static const struct gotmpl_options options[] = {
		{ .fold = true, .any_missing = true },
		{ .go_only = true, .open = "Param" },
		{ .open = "" },
	};
	const char *text = (const char *)data, *end = memchr(text, '\0', len);
	size_t template_len = end ? (size_t)(end - text) : len;
	auto_pool p = yn_pool_new();
	const struct ynode *root = NULL;
	struct err e;

	if (end)
		root = yn_parse_one(p, "data", end + 1, len - template_len - 1, &e);
	if (!root)
		root = yn_map(p);
	for (size_t i = 0; i < sizeof(options) / sizeof(*options); i++)
		render(text, template_len, root, &options[i]);
	return 0;
}
