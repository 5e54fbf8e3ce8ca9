/* Lists: select, map, filter, first, any, all, sort, reverse, flatten and the like. */
#include <string.h>

#include "limactl-c/yq/arith.h"
#include "limactl-c/yq/eval.h"

bool yq_must_be_list(struct yq_run *r, const struct yq_node *n, const struct yq_exp *x)
{
	if (n->shape == YQ_LIST)
		return true;
	yq_fail(r, "%s works on lists, not on %s", x->op->name, yq_tag_word(n->tag));
	return false;
}

static struct yq_node *selected(struct yq_run *r, struct yq_ctx c, struct yq_node *n, const struct yq_exp *x)
{
	struct yq_ctx got = yq_eval(r, yq_read_one(r, c, n), x->right);

	return yq_any_truthy(r, &got) ? n : NULL;
}

static struct yq_ctx run_select(struct yq_run *r, struct yq_ctx c, const struct yq_exp *x)
{
	return yq_each(r, c, x, selected);
}

static struct yq_node *filtered(struct yq_run *r, struct yq_ctx c, struct yq_node *n, const struct yq_exp *x)
{
	struct yq_ctx all = yq_splat(r, yq_over_one(r, c, n), n);
	struct yq_node *out = yq_gather(r, yq_each(r, all, x, selected).list);

	out->style = n->style;
	return out;
}

static struct yq_ctx run_filter(struct yq_run *r, struct yq_ctx c, const struct yq_exp *x)
{
	return yq_each(r, c, x, filtered);
}

static struct yq_node *mapped(struct yq_run *r, struct yq_ctx c, struct yq_node *n, const struct yq_exp *x)
{
	struct yq_ctx all = yq_splat(r, yq_over_one(r, c, n), n);
	struct yq_node *out;

	if (!all.list->count)
		return yq_copy(r, n);
	out = yq_gather(r, yq_eval(r, all, x->right).list);
	out->style = n->style;
	return out;
}

static struct yq_ctx run_map(struct yq_run *r, struct yq_ctx c, const struct yq_exp *x)
{
	return yq_each(r, c, x, mapped);
}

/* .[] |= x */
static struct yq_ctx run_map_values(struct yq_run *r, struct yq_ctx c, const struct yq_exp *x)
{
	for (size_t i = 0; i < c.list->count && !r->failed; i++) {
		struct yq_exp *set = yq_new_exp(r, &yq_op_assign, 0);

		set->flags = YQ_RELATIVE;
		set->left = yq_new_exp(r, &yq_op_self, 0);
		set->right = x->right;
		(void)yq_eval(r, yq_splat(r, yq_over_one(r, c, c.list->item[i]), c.list->item[i]), set);
	}
	return c;
}

static struct yq_node *first_that(struct yq_run *r, struct yq_ctx c, struct yq_node *n, const struct yq_exp *x)
{
	struct yq_ctx all, got;

	if (!x->right)
		return n->count ? n->child[0] : NULL;
	all = yq_splat(r, yq_over_one(r, c, n), n);
	for (size_t i = 0; i < all.list->count && !r->failed; i++) {
		got = yq_eval(r, yq_over_one(r, c, all.list->item[i]), x->right);
		if (yq_any_truthy(r, &got))
			return all.list->item[i];
	}
	return NULL;
}

static struct yq_ctx run_first(struct yq_run *r, struct yq_ctx c, const struct yq_exp *x)
{
	return yq_each(r, c, x, first_that);
}

/* One item that is (for any), that is not (for all) true, or for which the condition is. */
static bool has_item(struct yq_run *r, struct yq_ctx c, struct yq_node *list, const struct yq_exp *x, bool truth)
{
	for (size_t i = 0; i < list->count && !r->failed; i++) {
		const struct yq_node *n = list->child[i];

		if (x->right) {
			struct yq_ctx got = yq_eval(r, yq_read_one(r, c, list->child[i]), x->right);

			n = yq_first_of(&got);
			if (!n)
				continue;
		}
		if (yq_truthy(r, n) == truth)
			return true;
	}
	return false;
}

static struct yq_node *any(struct yq_run *r, struct yq_ctx c, struct yq_node *n, const struct yq_exp *x)
{
	return yq_must_be_list(r, n, x) ? yq_bool_at(r, n, has_item(r, c, n, x, true)) : NULL;
}

static struct yq_ctx run_any(struct yq_run *r, struct yq_ctx c, const struct yq_exp *x)
{
	return yq_each(r, c, x, any);
}

static struct yq_node *all(struct yq_run *r, struct yq_ctx c, struct yq_node *n, const struct yq_exp *x)
{
	return yq_must_be_list(r, n, x) ? yq_bool_at(r, n, !has_item(r, c, n, x, false)) : NULL;
}

static struct yq_ctx run_all(struct yq_run *r, struct yq_ctx c, const struct yq_exp *x)
{
	return yq_each(r, c, x, all);
}

static struct yq_node *reversed(struct yq_run *r, struct yq_ctx c, struct yq_node *n, const struct yq_exp *x)
{
	struct yq_node *out;

	(void)c;
	if (!yq_must_be_list(r, n, x))
		return NULL;
	out = yq_at(n, yq_collection(r, YQ_LIST));
	out->style = n->style;
	for (size_t i = n->count; i-- && !r->failed;)
		yq_add_item(r, out, n->child[i]);
	return out;
}

static struct yq_ctx run_reverse(struct yq_run *r, struct yq_ctx c, const struct yq_exp *x)
{
	return yq_each(r, c, x, reversed);
}

static void flatten_into(struct yq_run *r, struct yq_list *out, const struct yq_node *n, int depth)
{
	for (size_t i = 0; i < n->count && !r->failed; i++) {
		if (n->child[i]->shape == YQ_LIST && depth) {
			yq_must_know(r, n->child[i], YQ_BY_TEXT);
			flatten_into(r, out, n->child[i], depth - 1);
		} else {
			yq_push(r, out, n->child[i]);
		}
	}
}

/* Changes what it is given. */
static struct yq_ctx run_flatten(struct yq_run *r, struct yq_ctx c, const struct yq_exp *x)
{
	for (size_t i = 0; i < c.list->count && !r->failed; i++) {
		struct yq_list *items = yq_new_list(r);
		struct yq_node *n = c.list->item[i];

		if (!yq_must_be_list(r, n, x))
			break;
		yq_may_change(r, n);
		if (!x->number)
			continue;
		flatten_into(r, items, n, x->number);
		n->child = NULL;
		n->count = n->room = 0;
		yq_add_children(r, n, items->item, items->count);
	}
	return c;
}

static struct yq_node *joined(struct yq_run *r, struct yq_ctx c, struct yq_node *n, const struct yq_exp *x)
{
	struct yq_ctx got = yq_eval(r, yq_read_only(r, c), x->right);
	const struct yq_node *between = yq_first_of(&got);
	auto_buf text = BUF_INIT(YN_TEXT_MAX);
	bool full = false;

	if (!yq_must_be_list(r, n, x))
		return NULL;
	if (between)
		yq_must_know(r, between, YQ_BY_TEXT);
	for (size_t i = 0; i < n->count && !r->failed; i++) {
		const struct yq_node *one = n->child[i];

		yq_must_know(r, one, YQ_BY_TEXT);
		if (i && between)
			full |= buf_add(&text, between->text, between->len) < 0;
		if (one->tag != YQ_NULL)
			full |= buf_add(&text, one->text, one->len) < 0;
	}
	if (full)
		yq_fail(r, "the text becomes too long");
	return yq_at(n, yq_scalar(r, YQ_STR, text.data ? text.data : "", text.len));
}

static struct yq_ctx run_join(struct yq_run *r, struct yq_ctx c, const struct yq_exp *x)
{
	return yq_each(r, c, x, joined);
}

const struct yq_op yq_op_select = { "select", 1, 52, true, 0, run_select };
const struct yq_op yq_op_filter = { "filter", 1, 52, true, YQ_BY_TEXT, run_filter };
const struct yq_op yq_op_map = { "map", 1, 52, true, YQ_BY_TEXT, run_map };
const struct yq_op yq_op_map_values = { "map_values", 1, 52, true, YQ_BY_TEXT, run_map_values };
const struct yq_op yq_op_first = { "first", 1, 52, true, YQ_BY_TEXT, run_first };
const struct yq_op yq_op_any = { "any", 0, 50, false, YQ_BY_TEXT, run_any };
const struct yq_op yq_op_all = { "all", 0, 50, false, YQ_BY_TEXT, run_all };
const struct yq_op yq_op_any_c = { "any_c", 1, 50, false, YQ_BY_TEXT, run_any };
const struct yq_op yq_op_all_c = { "all_c", 1, 50, false, YQ_BY_TEXT, run_all };
const struct yq_op yq_op_reverse = { "reverse", 0, 52, true, YQ_BY_TEXT, run_reverse };
const struct yq_op yq_op_flatten = { "flatten", 0, 52, true, YQ_BY_TEXT, run_flatten };
const struct yq_op yq_op_join = { "join", 1, 50, false, YQ_BY_TEXT, run_join };
