#include "limactl-c/yq/yq.h"

#include <string.h>

#include "lib/buf.h"
#include "limactl-c/base/text.h"
#include "limactl-c/yq/eval.h"
#include "limactl-c/yq/parse.h"

static int give(struct yq_run *r, struct yn_pool *p, const struct yq_list *found, struct yq_result *out)
{
	out->count = 0;
	out->node = yn_alloc(p, found->count * sizeof(*out->node));
	for (size_t i = 0; i < found->count && !r->failed; i++)
		out->node[out->count++] = yq_export(r, p, found->item[i]);
	if (yn_pool_size(r->pool) > YQ_MEMORY_MAX)
		yq_fail(r, "the results take more than %d MiB of memory", YQ_MEMORY_MAX >> 20);
	return r->failed ? -1 : 0;
}

int yq_run(struct yn_pool *p, const char *expression, const struct ynode *root, struct yq_result *out, struct err *e)
{
	auto_pool scratch = yn_pool_new();
	struct yq_run r = { .pool = scratch, .e = e, .at = 1 };
	const struct yq_exp *x;
	struct yq_node *n;
	struct yq_ctx c = { 0 };

	if (strlen(expression) > YQ_EXPRESSION_MAX)
		return err_set(e, ERR_INVALID, "the expression is longer than %d KiB", YQ_EXPRESSION_MAX >> 10);
	if (!text_is_utf8(expression))
		return err_set(e, ERR_INVALID, "the expression is not UTF-8");
	x = yq_parse(&r, expression, 1);
	n = yq_import(&r, root);
	n->together = true;
	c.list = yq_new_list(&r);
	yq_push(&r, c.list, n);
	c = yq_eval(&r, c, x);
	return r.failed ? -1 : give(&r, p, c.list, out);
}

struct ynode *yq_edit(struct yn_pool *p, const char *expression, const struct ynode *root, struct err *e)
{
	struct yq_result got;

	if (yq_run(p, expression, root, &got, e) < 0)
		return NULL;
	if (got.count != 1 || got.node[0]->kind != YN_MAP) {
		if (got.count == 1)
			err_set(e, ERR_INVALID, "the expression gives %s, not the changed document: assign "
				"with = or |=", yn_kind_word(got.node[0]->kind));
		else
			err_set(e, ERR_INVALID, "the expression gives %zu results, not the one changed document",
				got.count);
		return NULL;
	}
	return got.node[0];
}

/* A literal's backslashes are halved twice, for escapes and for interpolation; the pair before ( once only. */
const char *yq_quote(struct yn_pool *p, const char *s)
{
	char *out = yn_alloc(p, 4 * strlen(s) + 3), *q = out;

	*q++ = '"';
	for (; *s; s++) {
		size_t before = *s == '"' ? 1 : *s != '\\' ? 0 : s[1] == '(' ? 1 : 3;

		memset(q, '\\', before);
		q += before;
		*q++ = *s;
	}
	*q++ = '"';
	return out;
}
