/* = |= += -= *= , del, with. */
#include <stdio.h>
#include <string.h>

#include "limactl-c/yq/eval.h"
#include "limactl-c/yq/number.h"

struct yq_exp *yq_node_exp(struct yq_run *r, struct yq_node *n)
{
	struct yq_exp *x = yq_new_exp(r, &yq_op_node, 0);

	x->node = n;
	return x;
}

static struct yq_node *assign(struct yq_run *r, struct yq_ctx c, struct yq_node *a, struct yq_node *b, unsigned flags)
{
	(void)c;
	if (!(flags & YQ_ONLY_NULL) || a->tag == YQ_NULL)
		yq_become(r, a, b);
	return a;
}

static struct yq_ctx run_assign(struct yq_run *r, struct yq_ctx c, const struct yq_exp *x)
{
	struct yq_ctx left = yq_eval(r, c, x->left);
	struct yq_cross how = { .pair = assign, .flags = x->flags };

	if (!(x->flags & YQ_RELATIVE)) {
		/* What is missing on the left was created just now, so that the second time it is found. */
		(void)yq_cross(r, yq_read_only(r, c), x, &how);
		return c;
	}
	/* From the last to the first: children before what holds them. */
	for (size_t i = left.list->count; i-- && !r->failed;) {
		struct yq_ctx right = yq_eval(r, yq_over_one(r, c, left.list->item[i]), x->right);
		const struct yq_node *first = yq_first_of(&right);

		if (first && !r->failed)
			yq_become(r, left.list->item[i], first);
	}
	return c;
}

/* Only what kind of value it is: the tag and the style. */
static struct yq_ctx run_assign_kind(struct yq_run *r, struct yq_ctx c, const struct yq_exp *x)
{
	struct yq_ctx left = yq_eval(r, c, x->left);

	for (size_t i = 0; i < left.list->count && !r->failed; i++) {
		struct yq_node *n = left.list->item[i];
		struct yq_ctx right = yq_eval(r, yq_read_one(r, c, n), x->right);
		const struct yq_node *first = yq_first_of(&right);

		if (!first || ((x->flags & YQ_ONLY_NULL) && n->tag != YQ_NULL))
			continue;
		yq_may_grow(r, n);
		if (!r->failed)
			yq_become_kind(n, first);
	}
	return c;
}

/* a op= b, for each a: a = (a as it was) op b. */
static struct yq_ctx run_compound(struct yq_run *r, struct yq_ctx c, const struct yq_exp *x)
{
	const struct yq_op *op = x->op == &yq_op_add_assign ? &yq_op_add :
				 x->op == &yq_op_subtract_assign ? &yq_op_subtract : &yq_op_multiply;
	struct yq_ctx left = yq_eval(r, c, x->left);

	for (size_t i = 0; i < left.list->count && !r->failed; i++) {
		struct yq_exp *sum = yq_new_exp(r, op, 0), *set = yq_new_exp(r, &yq_op_assign, 0);

		/* Part of a merge: *+n appends to nulls only. */
		set->flags = op == &yq_op_add ? x->flags & YQ_ONLY_NULL : 0;
		sum->flags = x->flags;
		sum->left = yq_node_exp(r, yq_copy(r, left.list->item[i]));
		sum->right = x->right;
		set->left = yq_node_exp(r, left.list->item[i]);
		set->right = sum;
		(void)yq_eval(r, c, set);
	}
	return c;
}

static void remove_children(struct yq_run *r, struct yq_node *n, size_t at, size_t count)
{
	yq_may_change(r, n->child[at + count - 1]);
	yq_work(r, (n->count - at) * sizeof(*n->child));
	if (r->failed)
		return;
	memmove(n->child + at, n->child + at + count, (n->count - at - count) * sizeof(*n->child));
	n->count -= count;
	for (size_t i = at; n->shape == YQ_LIST && i < n->count; i++)
		n->child[i]->index = i;
}

/* The item that a step of a path names; count: none. A key's text is such a step where a list took its map's place. */
static size_t item_at(const struct yq_node *list, const struct yq_step *step)
{
	char text[24];
	int64_t i;

	if (!yq_parse_int(step->text, &i, NULL) || i < 0 || i >= (int64_t)list->count)
		return list->count;
	snprintf(text, sizeof(text), "%lld", (long long)i);
	return strcmp(text, step->text) ? list->count : (size_t)i;
}

static void delete_one(struct yq_run *r, struct yq_node *n)
{
	struct yq_node *up = n->parent;
	struct yq_step step;
	size_t i;

	if (!yq_own_step(r, n, &step))
		yq_fail(r, "del() can only delete what has a place in the document");
	if (r->failed)
		return;
	if (up->shape == YQ_MAP) {
		/* A key that is a number is never the one a path names. */
		i = step.is_index ? up->count : yq_find_text(up, step.text, step.len);
		if (i < up->count)
			remove_children(r, up, i, 2);
		return;
	}
	if (up->shape != YQ_LIST) {
		yq_fail(r, "del() can only delete from maps and lists");
		return;
	}
	i = item_at(up, &step);
	if (i < up->count)
		remove_children(r, up, i, 1);
}

static struct yq_ctx run_delete(struct yq_run *r, struct yq_ctx c, const struct yq_exp *x)
{
	struct yq_ctx gone = yq_eval(r, yq_read_only(r, c), x->right);
	struct yq_list *left = yq_new_list(r);

	/* From the last to the first, so that the numbers of the others stay right. */
	for (size_t i = gone.list->count; i-- && !r->failed;) {
		struct yq_node *n = gone.list->item[i];

		if (n->parent) {
			delete_one(r, n);
			continue;
		}
		for (size_t j = 0; j < c.list->count; j++) {
			if (c.list->item[j] != n)
				yq_push(r, left, c.list->item[j]);
		}
		return yq_over(r, c, left);
	}
	return c;
}

static struct yq_ctx run_with(struct yq_run *r, struct yq_ctx c, const struct yq_exp *x)
{
	struct yq_ctx places;

	if (x->right->op != &yq_op_block) {
		yq_fail(r, "with is written: with(.a; change)");
		return c;
	}
	places = yq_eval(r, c, x->right->left);
	for (size_t i = 0; i < places.list->count && !r->failed; i++)
		(void)yq_eval(r, yq_over_one(r, places, places.list->item[i]), x->right->right);
	return c;
}

const struct yq_op yq_op_assign = { "=", 2, 40, false, 0, run_assign };
const struct yq_op yq_op_assign_kind = { "=", 2, 40, false, 0, run_assign_kind };
const struct yq_op yq_op_add_assign = { "+=", 2, 40, false, 0, run_compound };
const struct yq_op yq_op_subtract_assign = { "-=", 2, 40, false, 0, run_compound };
const struct yq_op yq_op_multiply_assign = { "*=", 2, 42, false, 0, run_compound };
const struct yq_op yq_op_delete = { "del", 1, 40, false, 0, run_delete };
const struct yq_op yq_op_with = { "with", 1, 52, true, 0, run_with };
