/* An expression, NUL, a YAML text: no crash, bounded work; an answer is a tree that can be written, and what an edit
 * gives is read again as the same. A second run gives the same. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lib/buf.h"
#include "limactl-c/yaml/emit.h"
#include "limactl-c/yaml/parse.h"
#include "limactl-c/yq/yq.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void must(int yes)
{
	if (!yes)
		abort();
}

static void can_be_written(struct yn_pool *p, const struct ynode *n)
{
	auto_buf text = BUF_INIT(64 << 20), again = BUF_INIT(64 << 20);
	const struct ynode *back;
	struct err e;

	must(yn_json(n, 0, &text) == 0);
	buf_free(&text);
	must(yn_emit(n, &text) == 0);
	if (n->kind != YN_MAP || text.len > YN_TEXT_MAX)
		return;
	back = yn_parse_one(p, "written", text.data, text.len, &e);
	must(back != NULL);
	must(yn_same(back, n));
}

static void quoting_is_undone(struct yn_pool *p, const char *text)
{
	struct yq_result got;
	struct err e;

	if (strlen(text) > 1000 || yq_run(p, yq_quote(p, text), yn_map(p), &got, &e) < 0)
		return;
	must(got.count == 1 && !strcmp(got.node[0]->text, text));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	auto_pool p = yn_pool_new();
	const uint8_t *nul = memchr(data, '\0', len);
	const char *expression = yn_strndup(p, (const char *)data, nul ? (size_t)(nul - data) : len);
	struct yq_result got, again;
	const struct ynode *doc;
	struct ynode *root;
	struct err e = { 0 };

	quoting_is_undone(p, expression);
	if (!nul)
		return 0;
	doc = yn_parse_one(p, "f", (const char *)nul + 1, len - (size_t)(nul - data) - 1, &e);
	if (!doc)
		return 0;
	root = yn_copy(p, doc);
	if (yq_run(p, expression, root, &got, &e) < 0) {
		must(e.msg[0] != '\0');
		return 0;
	}
	must(yn_same(root, doc));
	must(yq_run(p, expression, root, &again, &e) == 0 && again.count == got.count);
	for (size_t i = 0; i < got.count; i++) {
		must(yn_same(got.node[i], again.node[i]));
		can_be_written(p, got.node[i]);
	}
	return 0;
}
