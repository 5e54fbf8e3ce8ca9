/* * / % : numbers, texts repeated and split, and maps and lists merged. */
#include <string.h>

#include "limactl-c/yq/arith.h"
#include "limactl-c/yq/eval.h"

/* One value of the right tree is put where its path leads in the left one. */
static void merge_one(struct yq_run *r, struct yq_ctx c, struct yq_node *into, struct yq_node *from, size_t depth,
		      unsigned flags)
{
	struct yq_exp *x = yq_new_exp(r, &yq_op_assign_kind, 0);
	struct yq_step *path;
	size_t count = yq_path(r, from, &path);

	if (from->is_key && yq_is_merge_key(from))
		yq_fail(r, "a map with a merge key (<<) cannot be merged: write the values out");
	if (count < depth) {
		yq_fail(r, "this merge is not supported");
		return;
	}
	if ((flags & YQ_APPEND) && from->shape == YQ_LIST)
		x->op = &yq_op_add_assign;
	else if (from->shape == YQ_SCALAR || (from->shape == YQ_LIST && !(flags & YQ_DEEP_LISTS)) ||
		 (from->marks & YQ_ALIASED))
		x->op = &yq_op_assign;
	x->flags = flags & YQ_ONLY_NULL;
	x->left = yq_path_tree(r, path + depth, count - depth, flags & (YQ_EXACT | YQ_ONLY_EXISTING), from->is_key);
	x->right = yq_node_exp(r, from);
	(void)yq_eval(r, yq_over_one(r, c, into), x);
}

static struct yq_node *merge(struct yq_run *r, struct yq_ctx c, struct yq_node *a, struct yq_node *b, unsigned flags)
{
	struct yq_node *out = yq_copy(r, a);
	struct yq_list *all = yq_new_list(r);
	struct yq_step *path;
	size_t depth = yq_path(r, b, &path);

	c = yq_writable(r, c);
	yq_descend(r, all, yq_over_one(r, c, b), true, flags & YQ_DEEP_LISTS);
	for (size_t i = 0; i < all->count && !r->failed; i++)
		merge_one(r, c, out, all->item[i], depth, flags);
	return out;
}

static struct yq_node *repeat(struct yq_run *r, const struct yq_node *a, const struct yq_node *text,
			      const struct yq_node *count)
{
	struct yq_node *out = yq_in_place_of(r, a, text);
	int64_t n;
	char *copies;

	if (!yq_parse_int(count->text, &n, NULL) || n < 0) {
		yq_fail(r, "text cannot be repeated %.60s times", count->text);
		return NULL;
	}
	if (text->len && n > YN_TEXT_MAX / (int64_t)text->len) {
		yq_fail(r, "the text becomes too long");
		return NULL;
	}
	copies = yn_alloc(r->pool, (text->len ? (size_t)n * text->len : 0) + 1);
	for (size_t i = 0; text->len && i < (size_t)n; i++)
		memcpy(copies + i * text->len, text->text, text->len);
	out->text = copies;
	out->len = text->len ? (size_t)n * text->len : 0;
	if (out->style == YN_PLAIN)
		out->style = text->style;
	return out;
}

struct yq_node *yq_multiply_pair(struct yq_run *r, struct yq_ctx c, struct yq_node *a, struct yq_node *b,
				 unsigned flags)
{
	struct yq_ints i;
	double x, y;

	if (b->tag == YQ_NULL)
		return yq_copy(r, a);
	if (b->shape != YQ_SCALAR && (a->shape == b->shape || a->tag == YQ_NULL))
		return merge(r, c, a, b, flags);
	if (yq_ints(r, a, b, &i))
		return yq_in_place_of(r, a, yq_int_node(r, (int64_t)((uint64_t)i.a * (uint64_t)i.b), i.base));
	if (yq_floats(r, a, b, &x, &y))
		return yq_in_place_of(r, a, yq_float_node(r, x * y));
	if (a->tag == YQ_STR && b->tag == YQ_INT)
		return repeat(r, a, a, b);
	if (a->tag == YQ_INT && b->tag == YQ_STR)
		return repeat(r, a, b, a);
	yq_fail(r, "%s cannot be multiplied with %s", yq_tag_word(a->tag), yq_tag_word(b->tag));
	return NULL;
}

static struct yq_ctx run_multiply(struct yq_run *r, struct yq_ctx c, const struct yq_exp *x)
{
	struct yq_cross how = { .pair = yq_multiply_pair, .flags = x->flags, .marks = YQ_BY_TYPE };

	return yq_cross(r, yq_read_only(r, c), x, &how);
}

static struct yq_node *divide(struct yq_run *r, struct yq_ctx c, struct yq_node *a, struct yq_node *b, unsigned flags)
{
	double x, y;

	(void)c;
	(void)flags;
	if (a->shape == YQ_SCALAR && b->shape == YQ_SCALAR) {
		if (a->tag == YQ_STR && b->tag == YQ_STR)
			return yq_at(a, yq_split(r, a, b->text, b->len));
		if (yq_floats(r, a, b, &x, &y))
			return yq_in_place_of(r, a, yq_float_node(r, x / y));
	}
	yq_fail(r, "%s cannot be divided by %s", yq_tag_word(a->tag), yq_tag_word(b->tag));
	return NULL;
}

static struct yq_ctx run_divide(struct yq_run *r, struct yq_ctx c, const struct yq_exp *x)
{
	static const struct yq_cross how = { .pair = divide, .marks = YQ_BY_TYPE };

	return yq_cross(r, yq_read_only(r, c), x, &how);
}

/* Exact: each subtraction is of a multiple by a power of two. Without end when y is 0. */
static double remainder_of(double x, double y)
{
	double a = x < 0 ? -x : x, b = y < 0 ? -y : y;

	while (a >= b) {
		double t = b;

		while (2 * t <= a)
			t *= 2;
		a -= t;
	}
	return x < 0 ? -a : a;
}

static struct yq_node *modulo(struct yq_run *r, struct yq_ctx c, struct yq_node *a, struct yq_node *b, unsigned flags)
{
	struct yq_ints i;
	double x, y;

	(void)c;
	(void)flags;
	if (a->shape == YQ_SCALAR && b->shape == YQ_SCALAR) {
		bool whole = yq_ints(r, a, b, &i), number = !whole && yq_floats(r, a, b, &x, &y);

		if ((whole && !i.b) || (number && y == 0))
			yq_fail(r, "the remainder of a division by 0 does not exist");
		if (r->failed)
			return NULL;
		if (whole) {
			/* The lowest number has no positive counterpart, which the processor minds. */
			return yq_in_place_of(r, a, yq_int_node(r, i.b == -1 ? 0 : i.a % i.b, i.base));
		}
		if (number)
			return yq_in_place_of(r, a, yq_float_node(r, remainder_of(x, y)));
	}
	yq_fail(r, "%s has no remainder when divided by %s", yq_tag_word(a->tag), yq_tag_word(b->tag));
	return NULL;
}

static struct yq_ctx run_modulo(struct yq_run *r, struct yq_ctx c, const struct yq_exp *x)
{
	static const struct yq_cross how = { .pair = modulo, .marks = YQ_BY_TYPE };

	return yq_cross(r, yq_read_only(r, c), x, &how);
}

const struct yq_op yq_op_multiply = { "*", 2, 42, false, 0, run_multiply };
const struct yq_op yq_op_divide = { "/", 2, 42, false, 0, run_divide };
const struct yq_op yq_op_modulo = { "%", 2, 42, false, 0, run_modulo };
