#include <string.h>

#include "limactl-c/yq/glob.h"
#include "limactl-c/yq/number.h"
#include "limactl-c/yq/tree.h"

bool yq_truthy(struct yq_run *r, const struct yq_node *n)
{
	if (!n)
		return false;
	yq_must_know(r, n, YQ_BY_TEXT);
	if (n->tag == YQ_NULL)
		return false;
	return n->shape != YQ_SCALAR || n->tag != YQ_BOOL || !strcasecmp(n->text, "true");
}

bool yq_matches(struct yq_run *r, const char *text, size_t len, const char *pattern, size_t pattern_len)
{
	/* A * may make every byte of one meet every byte of the other. */
	yq_work(r, memchr(pattern, '*', pattern_len) ? len * pattern_len : len);
	return !r->failed && yq_glob(text, len, pattern, pattern_len);
}

static bool same_maps(struct yq_run *r, const struct yq_node *a, const struct yq_node *b)
{
	for (size_t i = 0; i + 1 < a->count && !r->failed; i += 2) {
		size_t at = yq_find_key(r, b, a->child[i]);

		if (at == b->count || !yq_same(r, a->child[i + 1], b->child[at + 1]))
			return false;
	}
	return true;
}

bool yq_same(struct yq_run *r, const struct yq_node *a, const struct yq_node *b)
{
	yq_work(r, a->len);
	yq_must_know(r, a, YQ_BY_TYPE);
	yq_must_know(r, b, YQ_BY_TYPE);
	if (r->failed || a->shape != b->shape)
		return false;
	if (a->shape == YQ_SCALAR)
		return a->tag == b->tag && (a->tag == YQ_NULL || yq_text_same(a, b));
	if (a->tag == YQ_NULL)
		return true;
	if (a->count != b->count)
		return false;
	if (a->shape == YQ_MAP)
		return same_maps(r, a, b);
	for (size_t i = 0; i < a->count; i++) {
		if (!yq_same(r, a->child[i], b->child[i]))
			return false;
	}
	return true;
}

bool yq_own_step(struct yq_run *r, const struct yq_node *n, struct yq_step *out)
{
	enum yq_base base;
	int64_t i;

	if (n->is_index)
		yq_fail(r, "the number of an item has no place of its own");
	if (n->is_key) {
		*out = (struct yq_step){ n->text, n->len, false };
		return true;
	}
	if (n->key) {
		*out = (struct yq_step){ n->key->text, n->key->len, false };
		if (n->key->tag != YQ_STR && yq_parse_int(n->key->text, &i, &base)) {
			out->text = yn_printf(r->pool, "%lld", (long long)i);
			out->len = strlen(out->text);
			out->is_index = true;
		}
		return true;
	}
	if (!n->has_index)
		return false;
	out->text = yn_printf(r->pool, "%zu", n->index);
	out->len = strlen(out->text);
	out->is_index = true;
	return true;
}

size_t yq_path(struct yq_run *r, const struct yq_node *n, struct yq_step **out)
{
	size_t count = 0;
	struct yq_step step;

	for (const struct yq_node *up = n; up && count <= 2 * YQ_NESTING_MAX && yq_own_step(r, up, &step); up = up->parent)
		count++;
	*out = yn_alloc(r->pool, count * sizeof(**out));
	for (size_t i = count; i--; n = n->parent)
		(void)yq_own_step(r, n, &(*out)[i]);
	return count;
}
