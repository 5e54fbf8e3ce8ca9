/* length, keys, has, contains, entries, pick, omit, and places: path, key, parent. */
#include <string.h>

#include "limactl-c/yq/eval.h"
#include "limactl-c/yq/number.h"

static struct yq_node *length(struct yq_run *r, struct yq_ctx c, struct yq_node *n, const struct yq_exp *x)
{
	size_t count = n->count;

	if (n->shape == YQ_MAP)
		count /= 2;
	if (n->shape == YQ_SCALAR)
		count = n->tag == YQ_NULL ? 0 : n->len;
	(void)c;
	(void)x;
	return yq_at(n, yq_number(r, count));
}

static struct yq_ctx run_length(struct yq_run *r, struct yq_ctx c, const struct yq_exp *x)
{
	return yq_each(r, c, x, length);
}

static struct yq_node *keys(struct yq_run *r, struct yq_ctx c, struct yq_node *n, const struct yq_exp *x)
{
	struct yq_node *out = yq_collection(r, YQ_LIST);

	(void)c;
	(void)x;
	if (n->shape == YQ_SCALAR) {
		yq_fail(r, "%s has no keys", yq_tag_word(n->tag));
		return NULL;
	}
	for (size_t i = 0; i < n->count && !r->failed; i += n->shape == YQ_MAP ? 2 : 1)
		yq_add_item(r, out, n->shape == YQ_MAP ? n->child[i] : yq_number(r, i));
	return out;
}

static struct yq_ctx run_keys(struct yq_run *r, struct yq_ctx c, const struct yq_exp *x)
{
	return yq_each(r, c, x, keys);
}

static struct yq_node *key(struct yq_run *r, struct yq_ctx c, struct yq_node *n, const struct yq_exp *x)
{
	struct yq_node *number;

	(void)c;
	(void)x;
	if (!n->has_index || n->key)
		return n->key;
	number = yq_number(r, n->index);
	number->is_index = true;
	return number;
}

static struct yq_ctx run_key(struct yq_run *r, struct yq_ctx c, const struct yq_exp *x)
{
	return yq_each(r, c, x, key);
}

static struct yq_node *is_key(struct yq_run *r, struct yq_ctx c, struct yq_node *n, const struct yq_exp *x)
{
	(void)c;
	(void)x;
	if (n->is_index)
		yq_fail(r, "is_key of an item's number is not supported");
	return yq_bool_at(r, n, n->is_key);
}

static struct yq_ctx run_is_key(struct yq_run *r, struct yq_ctx c, const struct yq_exp *x)
{
	return yq_each(r, c, x, is_key);
}

static struct yq_node *has(struct yq_run *r, struct yq_ctx c, struct yq_node *n, const struct yq_exp *x)
{
	struct yq_ctx got = yq_eval(r, yq_read_only(r, c), x->right);
	const struct yq_node *wanted = yq_first_of(&got);
	int64_t i = 0;
	bool found = false;

	if (r->failed)
		return NULL;
	if (!wanted)
		wanted = yq_word(r, YQ_NULL, "null");
	yq_must_know(r, wanted, YQ_BY_TYPE);
	if (n->shape == YQ_MAP)
		found = yq_find_text(n, wanted->text, wanted->len) < n->count;
	if (n->shape == YQ_LIST && wanted->tag == YQ_INT) {
		enum yq_base base;

		if (!yq_parse_int(wanted->text, &i, &base) || base != YQ_DECIMAL)
			yq_fail(r, "%.60s is no number of an item", wanted->text);
		found = (int64_t)n->count > i;
	}
	return yq_bool_at(r, n, found);
}

static struct yq_ctx run_has(struct yq_run *r, struct yq_ctx c, const struct yq_exp *x)
{
	return yq_each(r, c, x, has);
}

static bool contains(struct yq_run *r, const struct yq_node *a, const struct yq_node *b);

static bool has_item_like(struct yq_run *r, const struct yq_node *list, const struct yq_node *b)
{
	for (size_t i = 0; i < list->count && !r->failed; i++) {
		if (contains(r, list->child[i], b))
			return true;
	}
	return false;
}

static bool contains(struct yq_run *r, const struct yq_node *a, const struct yq_node *b)
{
	yq_work(r, a->len + b->len);
	yq_must_know(r, a, YQ_BY_TYPE);
	yq_must_know(r, b, YQ_BY_TYPE);
	if (r->failed)
		return false;
	if (a->shape == YQ_SCALAR) {
		if (b->shape != YQ_SCALAR || a->tag != b->tag)
			return false;
		if (a->tag == YQ_STR)
			return !b->len || memmem(a->text, a->len, b->text, b->len);
		return a->tag == YQ_NULL || yq_text_same(a, b);
	}
	if (a->shape == YQ_LIST && b->shape != YQ_LIST)
		return has_item_like(r, a, b);
	if (a->shape != b->shape)
		return false;
	for (size_t i = 0; i < b->count; i += a->shape == YQ_MAP ? 2 : 1) {
		size_t at = a->shape == YQ_MAP ? yq_find_key(r, a, b->child[i]) : 0;

		if (a->shape == YQ_LIST ? !has_item_like(r, a, b->child[i]) :
					  at == a->count || !contains(r, a->child[at + 1], b->child[i + 1]))
			return false;
	}
	return true;
}

static struct yq_node *contains_pair(struct yq_run *r, struct yq_ctx c, struct yq_node *a, struct yq_node *b,
				     unsigned flags)
{
	(void)c;
	(void)flags;
	if (a->shape != b->shape)
		yq_fail(r, "%s cannot be contained in %s", yq_tag_word(b->tag), yq_tag_word(a->tag));
	return yq_bool_at(r, a, contains(r, a, b));
}

static struct yq_ctx run_contains(struct yq_run *r, struct yq_ctx c, const struct yq_exp *x)
{
	static const struct yq_cross how = { .pair = contains_pair, .marks = YQ_BY_TYPE };

	return yq_cross(r, yq_read_only(r, c), x, &how);
}

static struct yq_node *entry(struct yq_run *r, const struct yq_node *k, const struct yq_node *value)
{
	struct yq_node *out = yq_collection(r, YQ_MAP);

	yq_add_pair(r, out, yq_word(r, YQ_STR, "key"), k);
	yq_add_pair(r, out, yq_word(r, YQ_STR, "value"), value);
	return out;
}

static struct yq_node *to_entries(struct yq_run *r, struct yq_ctx c, struct yq_node *n, const struct yq_exp *x)
{
	struct yq_node *out = yq_at(n, yq_collection(r, YQ_LIST));

	(void)c;
	(void)x;
	if (n->shape == YQ_SCALAR) {
		if (n->tag != YQ_NULL)
			yq_fail(r, "%s has no keys", yq_tag_word(n->tag));
		return NULL;
	}
	for (size_t i = 0; i < n->count && !r->failed; i += n->shape == YQ_MAP ? 2 : 1) {
		if (n->shape == YQ_MAP)
			yq_add_item(r, out, entry(r, n->child[i], n->child[i + 1]));
		else
			yq_add_item(r, out, entry(r, yq_number(r, i), n->child[i]));
	}
	return out;
}

static struct yq_ctx run_to_entries(struct yq_run *r, struct yq_ctx c, const struct yq_exp *x)
{
	return yq_each(r, c, x, to_entries);
}

static struct yq_node *from_entries(struct yq_run *r, struct yq_ctx c, struct yq_node *n, const struct yq_exp *x)
{
	struct yq_node *out = yq_copy_shell(r, n);

	(void)c;
	if (!yq_must_be_list(r, n, x))
		return NULL;
	out->shape = YQ_MAP;
	out->tag = YQ_TAG_MAP;
	out->from = NULL;
	for (size_t i = 0; i < n->count && !r->failed; i++) {
		const struct yq_node *one = n->child[i];
		size_t k = one->shape == YQ_MAP ? yq_find_text(one, "key", 3) : one->count,
		       v = one->shape == YQ_MAP ? yq_find_text(one, "value", 5) : one->count;

		yq_must_know(r, one, YQ_BY_TEXT);
		if (k == one->count || v == one->count) {
			yq_fail(r, "item %zu of the entries has no `key` or no `value`", i);
			break;
		}
		yq_add_pair(r, out, one->child[k + 1], one->child[v + 1]);
	}
	return out;
}

static struct yq_ctx run_from_entries(struct yq_run *r, struct yq_ctx c, const struct yq_exp *x)
{
	return yq_each(r, c, x, from_entries);
}

static struct yq_ctx run_with_entries(struct yq_run *r, struct yq_ctx c, const struct yq_exp *x)
{
	struct yq_ctx lists = run_to_entries(r, c, x);
	struct yq_list *out = yq_new_list(r);

	for (size_t i = 0; i < lists.list->count && !r->failed; i++) {
		struct yq_ctx all = yq_splat(r, yq_over_one(r, c, lists.list->item[i]), lists.list->item[i]);
		struct yq_list *changed = yq_new_list(r);
		struct yq_node *n;

		for (size_t j = 0; j < all.list->count && !r->failed; j++)
			yq_push_all(r, changed, yq_eval(r, yq_over_one(r, all, all.list->item[j]), x->right).list);
		n = from_entries(r, c, yq_gather(r, changed), x);
		if (n)
			yq_push(r, out, n);
	}
	return yq_over(r, c, out);
}

const struct yq_op yq_op_length = { "length", 0, 50, false, YQ_BY_TEXT, run_length };
const struct yq_op yq_op_keys = { "keys", 0, 52, true, YQ_BY_TEXT, run_keys };
const struct yq_op yq_op_key = { "key", 0, 50, false, 0, run_key };
const struct yq_op yq_op_is_key = { "is_key", 0, 50, false, 0, run_is_key };
const struct yq_op yq_op_has = { "has", 1, 50, false, YQ_BY_TEXT, run_has };
const struct yq_op yq_op_contains = { "contains", 1, 50, false, 0, run_contains };
const struct yq_op yq_op_to_entries = { "to_entries", 0, 52, true, YQ_BY_TEXT, run_to_entries };
const struct yq_op yq_op_from_entries = { "from_entries", 0, 50, false, YQ_BY_TEXT, run_from_entries };
const struct yq_op yq_op_with_entries = { "with_entries", 1, 50, false, YQ_BY_TEXT, run_with_entries };
