/* .a, .[0], .[], .[1:2], .. and the keys of maps with * and ? in them. */
#include <string.h>

#include "limactl-c/base/text.h"
#include "limactl-c/yq/eval.h"
#include "limactl-c/yq/number.h"

struct wanted {
	const char *text;
	size_t len;
	unsigned flags;
	bool all;
};

static bool wants(struct yq_run *r, const struct wanted *w, const struct yq_node *key)
{
	if (w->all)
		return true;
	if (w->flags & YQ_EXACT)
		return key->len == w->len && !memcmp(key->text, w->text, w->len);
	return yq_matches(r, key->text, key->len, w->text, w->len);
}

/* yq looks through merge keys, and lets them win: only where that makes no difference we go on. */
static void refuse_merged(struct yq_run *r, const struct yq_node *from, const struct wanted *w)
{
	if (from->shape == YQ_LIST) {
		for (size_t i = 0; i < from->count; i++)
			refuse_merged(r, from->child[i], w);
	}
	if (from->shape != YQ_MAP)
		return;
	for (size_t i = 0; i < from->count; i += 2) {
		if (wants(r, w, from->child[i]) || yq_is_merge_key(from->child[i]))
			yq_fail(r, "a merge key (<<) has a part in this: write the values out");
	}
}

static void create_pair(struct yq_run *r, struct yq_node *map, const struct yq_node *key, unsigned flags,
			struct yq_list *out)
{
	yq_may_grow(r, map);
	if (r->failed)
		return;
	if (!map->count)
		map->style = YN_PLAIN;
	yq_add_pair(r, map, key, yq_word(r, YQ_NULL, "null"));
	if (r->failed)
		return;
	if (flags & (YQ_KEYS_TOO | YQ_KEY_ONLY))
		yq_push(r, out, map->child[map->count - 2]);
	if (!(flags & YQ_KEY_ONLY))
		yq_push(r, out, map->child[map->count - 1]);
}

/* key NULL: all. */
static void from_map(struct yq_run *r, struct yq_ctx c, struct yq_node *map, const struct yq_node *key, unsigned flags,
		     struct yq_list *out)
{
	struct wanted w = { key ? key->text : "", key ? key->len : 0, flags, !key };
	size_t before = out->count;

	for (size_t i = 0; i + 1 < map->count && !r->failed; i += 2) {
		if (!(flags & YQ_EXACT) && yq_is_merge_key(map->child[i]) && !(key && yq_is(key, "<<"))) {
			refuse_merged(r, map->child[i + 1], &w);
			continue;
		}
		if (!wants(r, &w, map->child[i]))
			continue;
		if (flags & (YQ_KEYS_TOO | YQ_KEY_ONLY))
			yq_push(r, out, map->child[i]);
		if (!(flags & YQ_KEY_ONLY))
			yq_push(r, out, map->child[i + 1]);
	}
	if (key && out->count == before && !(flags & YQ_ONLY_EXISTING) && !c.read_only)
		create_pair(r, map, key, flags, out);
}

static void item_of(struct yq_run *r, struct yq_node *list, const struct yq_node *number, unsigned flags,
		    struct yq_list *out)
{
	int64_t i;

	if (!yq_parse_int(number->text, &i, NULL)) {
		if (!(flags & YQ_OPTIONAL) || memchr(number->text, '_', number->len))
			yq_fail(r, "a list has no \"%.60s\", only numbers", number->text);
		return;
	}
	if (i >= YN_NODES_MAX) {
		yq_fail(r, "a list cannot have more than %d items", YN_NODES_MAX);
		return;
	}
	if (i >= (int64_t)list->count) {
		yq_may_grow(r, list);
		if (!list->count)
			list->style = YN_PLAIN;
	}
	/* Reading an item too far makes the list as long, like writing it does. */
	while (i >= (int64_t)list->count && !r->failed)
		yq_add_item(r, list, yq_word(r, YQ_NULL, "null"));
	if (i < 0)
		i += (int64_t)list->count;
	if (i < 0)
		yq_fail(r, "item [%s] is before the first of %zu", number->text, list->count);
	if (!r->failed)
		yq_push(r, out, list->child[i]);
}

/* A null is what nothing was said about yet: it becomes what the path needs. */
static void become_empty(struct yq_run *r, struct yq_node *n, enum yq_shape shape)
{
	yq_may_grow(r, n);
	if (r->failed)
		return;
	n->shape = shape;
	n->tag = YQ_TAG_NONE;
	n->from = NULL;
}

static struct yq_list *index_list(struct yq_run *r, struct yq_ctx c, struct yq_node *n, struct yq_node *const *indexes,
				  size_t count, unsigned flags)
{
	struct yq_list *out = yq_new_list(r);

	if (n->tag == YQ_NULL)
		become_empty(r, n, count && indexes[0]->tag != YQ_INT ? YQ_MAP : YQ_LIST);
	if (n->shape == YQ_MAP && !count)
		from_map(r, c, n, NULL, flags, out);
	for (size_t i = 0; n->shape == YQ_LIST && !count && i < n->count && !r->failed; i++)
		yq_push(r, out, n->child[i]);
	for (size_t i = 0; i < count && !r->failed; i++) {
		yq_must_know(r, indexes[i], YQ_BY_TYPE);
		if (n->shape == YQ_MAP)
			from_map(r, c, n, indexes[i], flags, out);
		else if (n->shape == YQ_LIST)
			item_of(r, n, indexes[i], flags, out);
	}
	return out;
}

struct yq_ctx yq_splat(struct yq_run *r, struct yq_ctx c, struct yq_node *n)
{
	return yq_over(r, c, index_list(r, c, n, NULL, 0, 0));
}

static struct yq_ctx run_path(struct yq_run *r, struct yq_ctx c, const struct yq_exp *x)
{
	struct yq_list *out = yq_new_list(r);
	struct yq_node *key = yq_scalar(r, YQ_STR, x->text, x->len);

	for (size_t i = 0; i < c.list->count && !r->failed; i++) {
		struct yq_node *n = c.list->item[i];

		if (n->tag == YQ_NULL && !c.read_only && !yq_is(key, "[]"))
			become_empty(r, n, x->flags & YQ_IS_INDEX ? YQ_LIST : YQ_MAP);
		if (r->failed)
			break;
		if (n->shape == YQ_MAP)
			from_map(r, c, n, key, x->flags, out);
		else if (n->shape == YQ_LIST)
			item_of(r, n, key, x->flags, out);
	}
	return yq_over(r, c, out);
}

static int64_t bound(struct yq_run *r, struct yq_ctx c, struct yq_node *n, const struct yq_exp *x, size_t length)
{
	struct yq_ctx got = yq_eval(r, yq_over_one(r, c, n), x);
	int64_t i = 0;

	if (!r->failed && got.list->count != 1)
		yq_fail(r, "a bound of [a:b] must be one number");
	if (!r->failed)
		yq_must_know(r, got.list->item[0], YQ_BY_TYPE);
	if (!r->failed && !yq_parse_int(got.list->item[0]->text, &i, NULL))
		yq_fail(r, "a bound of [a:b] must be a whole number, not \"%.60s\"", got.list->item[0]->text);
	if (i < 0)
		i += (int64_t)length;
	return i < 0 ? 0 : i > (int64_t)length ? (int64_t)length : i;
}

static struct yq_node *slice(struct yq_run *r, struct yq_ctx c, struct yq_node *n, const struct yq_exp *x)
{
	bool text = n->shape == YQ_SCALAR && n->tag == YQ_STR;
	size_t length = text ? text_utf8_count(n->text, n->len) : n->count, from, to;
	struct yq_node *out;

	yq_must_know(r, n, YQ_BY_TYPE);
	from = (size_t)bound(r, c, n, x->left, length);
	to = (size_t)bound(r, c, n, x->right, length);
	if (to < from)
		to = from;
	if (text) {
		from = text_utf8_offset(n->text, n->len, from);
		out = yq_at(n, yq_scalar(r, YQ_STR, n->text + from, text_utf8_offset(n->text, n->len, to) - from));
		out->style = n->style;
		return out;
	}
	if (n->shape == YQ_MAP && n->count) {
		yq_fail(r, "[a:b] takes parts of lists and texts, not of maps");
		return NULL;
	}
	out = yq_at(n, yq_collection(r, YQ_LIST));
	out->tag = n->tag;
	for (; from < to && !r->failed; from++)
		yq_add_item(r, out, n->child[from]);
	return out;
}

static struct yq_ctx run_index(struct yq_run *r, struct yq_ctx c, const struct yq_exp *x)
{
	const struct yq_exp *inner = x->right->right;
	struct yq_ctx left = yq_eval(r, c, x->left), indexes;
	struct yq_list *out = yq_new_list(r);
	const struct yq_node *first;

	if (inner && inner->op == &yq_op_pair)
		return yq_each(r, left, inner, slice);
	indexes = yq_eval(r, yq_read_only(r, c), x->right);
	first = yq_first_of(&indexes);
	if (!first)
		return yq_over(r, c, out);
	for (size_t i = 0; i < left.list->count && !r->failed; i++)
		yq_push_all(r, out, index_list(r, left, left.list->item[i], first->child, first->count, x->flags));
	return yq_over(r, c, out);
}

void yq_descend(struct yq_run *r, struct yq_list *out, struct yq_ctx c, bool keys, bool lists)
{
	for (size_t i = 0; i < c.list->count && !r->failed; i++) {
		struct yq_node *n = c.list->item[i];

		yq_push(r, out, n);
		if ((n->marks & YQ_ALIASED) || !n->count || (!lists && n->shape == YQ_LIST))
			continue;
		yq_descend(r, out, yq_over(r, c, index_list(r, c, n, NULL, 0, YQ_EXACT | (keys ? YQ_KEYS_TOO : 0))),
			   keys, lists);
	}
}

static struct yq_ctx run_descend(struct yq_run *r, struct yq_ctx c, const struct yq_exp *x)
{
	struct yq_list *out = yq_new_list(r);

	yq_descend(r, out, c, x->flags & YQ_KEYS_TOO, true);
	return yq_over(r, c, out);
}

struct yq_exp *yq_path_tree(struct yq_run *r, const struct yq_step *steps, size_t count, unsigned flags, bool key)
{
	struct yq_exp *x = yq_new_exp(r, count ? &yq_op_path : &yq_op_self, 0), *pipe;

	if (!count)
		return x;
	x->text = steps[0].text;
	x->len = steps[0].len;
	x->flags = flags | (steps[0].is_index ? YQ_IS_INDEX : 0);
	if (count == 1) {
		x->flags |= key ? YQ_KEY_ONLY : 0;
		return x;
	}
	pipe = yq_new_exp(r, &yq_op_short_pipe, 0);
	pipe->left = x;
	pipe->right = yq_path_tree(r, steps + 1, count - 1, flags, key);
	return pipe;
}

const struct yq_op yq_op_path = { "a path", 0, 55, true, 0, run_path };
const struct yq_op yq_op_index = { "[ ]", 2, 50, false, 0, run_index };
const struct yq_op yq_op_descend = { "..", 0, 50, false, 0, run_descend };
