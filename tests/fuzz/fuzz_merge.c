/* Three YAML texts, separated by NUL: as layers of a load, and as a template with two bases. No crash, bounded work, and
 * what comes out can be written down and read back. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "limactl-c/config/merge.h"
#include "limactl-c/yaml/emit.h"
#include "limactl-c/yaml/parse.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

enum { TEXTS = 3, OUT_MAX = 16 << 20 };

/* A tree to change; NULL when the text is no template. */
static struct ynode *next(struct yn_pool *p, const uint8_t **data, size_t *len)
{
	const uint8_t *end = memchr(*data, 0, *len);
	size_t n = end ? (size_t)(end - *data) : *len;
	struct findings f = { 0 };
	const struct ynode *root = yn_parse(p, "f.yaml", (const char *)*data, n, &f);
	struct ynode *out = root && root->kind == YN_MAP ? yn_copy(p, root) : NULL;

	findings_fini(&f);
	*data += n + (end != NULL);
	*len -= n + (end != NULL);
	return out;
}

static void is_read_back(const struct ynode *n)
{
	auto_buf text = BUF_INIT(OUT_MAX);
	auto_pool p = yn_pool_new();
	struct findings f = { 0 };
	const struct ynode *back;

	if (yn_emit(n, &text) < 0)
		return;
	back = yn_parse(p, "back.yaml", text.data, text.len, &f);
	/* Several texts together may have more values than one may. */
	if (text.len < YN_NODES_MAX / 4 && (f.errors || !back || !yn_same(back, n)))
		abort();
	findings_fini(&f);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	auto_pool p = yn_pool_new();
	struct ynode *tree[TEXTS], *out;
	struct findings f = { 0 };

	for (size_t i = 0; i < TEXTS; i++)
		tree[i] = next(p, &data, &len);
	if (tree[0]) {
		out = yn_copy(p, tree[0]);
		for (size_t i = 1; i < TEXTS; i++) {
			if (tree[i])
				merge_base(p, out, tree[i]);
		}
		merge_combine(p, out, &f);
		if (!f.errors)
			is_read_back(out);
		findings_fini(&f);
	}
	for (size_t i = 0; i < TEXTS; i++) {
		if (tree[i])
			merge_normalise(p, tree[i]);
	}
	out = merge_layers(p, tree[0], tree[1], tree[2]);
	if (out)
		is_read_back(out);
	return 0;
}
