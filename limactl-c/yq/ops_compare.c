/* == != < <= > >= and or not, min and max. */
#include <string.h>

#include "limactl-c/yq/arith.h"
#include "limactl-c/yq/eval.h"

enum { FLIP = 1 };

/* The right side is a pattern. A side without a value counts as null. */
static struct yq_node *equals(struct yq_run *r, struct yq_ctx c, struct yq_node *a, struct yq_node *b, unsigned flags)
{
	bool same = false;

	(void)c;
	if (!a || !b)
		same = (!a || a->tag == YQ_NULL) && (!b || b->tag == YQ_NULL);
	else if (a->tag == YQ_NULL)
		same = b->tag == YQ_NULL;
	else if (a->shape == YQ_SCALAR && b->shape == YQ_SCALAR)
		same = yq_matches(r, a->text, a->len, b->text, b->len);
	return yq_bool_at(r, a ? a : b, same != (flags & FLIP));
}

static struct yq_ctx run_equals(struct yq_run *r, struct yq_ctx c, const struct yq_exp *x)
{
	static const struct yq_cross how = { .pair = equals, .when_empty = true, .marks = YQ_BY_TEXT };

	return yq_cross(r, c, x, &how);
}

static struct yq_ctx run_differs(struct yq_run *r, struct yq_ctx c, const struct yq_exp *x)
{
	static const struct yq_cross how = { .pair = equals, .flags = FLIP, .when_empty = true, .marks = YQ_BY_TEXT };

	return yq_cross(r, yq_read_only(r, c), x, &how);
}

/* yq compares texts that are dates as dates. */
static bool like_a_date(const struct yq_node *n)
{
	return strspn(n->text, "0123456789") == 4 && n->text[4] == '-';
}

static bool scalars_in_order(struct yq_run *r, const struct yq_node *a, const struct yq_node *b, unsigned flags)
{
	struct yq_ints i;
	double x, y, d = 0;

	if (yq_ints(r, a, b, &i)) {
		d = i.a < i.b ? -1 : i.a > i.b;
	} else if (yq_floats(r, a, b, &x, &y)) {
		d = x < y ? -1 : x > y;
	} else if (a->tag == YQ_STR && like_a_date(a)) {
		yq_fail(r, "the order of dates is not supported");
	} else if (a->tag == YQ_STR && b->tag == YQ_STR) {
		d = yq_text_order(a, b);
	} else if (a->tag == YQ_NULL || b->tag == YQ_NULL) {
		return a->tag == b->tag && (flags & YQ_OR_EQUAL);
	} else {
		yq_fail(r, "%s and %s have no order", yq_tag_word(a->tag), yq_tag_word(b->tag));
	}
	return d == 0 ? (flags & YQ_OR_EQUAL) != 0 : (d > 0) == ((flags & YQ_GREATER) != 0);
}

static struct yq_node *compare(struct yq_run *r, struct yq_ctx c, struct yq_node *a, struct yq_node *b, unsigned flags)
{
	(void)c;
	yq_work(r, a ? a->len : 0);
	if (!a || !b)
		return yq_bool_at(r, a ? a : b, !a && !b && (flags & YQ_OR_EQUAL));
	if (a->shape != YQ_SCALAR || b->shape != YQ_SCALAR) {
		yq_fail(r, "%s and %s have no order", yq_tag_word(a->tag), yq_tag_word(b->tag));
		return NULL;
	}
	return yq_bool_at(r, a, scalars_in_order(r, a, b, flags));
}

static struct yq_ctx run_compare(struct yq_run *r, struct yq_ctx c, const struct yq_exp *x)
{
	struct yq_cross how = { .pair = compare, .flags = x->flags, .when_empty = true, .marks = YQ_BY_TYPE };

	return yq_cross(r, c, x, &how);
}

static struct yq_ctx run_extreme(struct yq_run *r, struct yq_ctx c, const struct yq_exp *x)
{
	struct yq_list *out = yq_new_list(r);

	for (size_t i = 0; i < c.list->count && !r->failed; i++) {
		struct yq_ctx all = yq_splat(r, yq_over_one(r, c, c.list->item[i]), c.list->item[i]);
		struct yq_node *best = yq_first_of(&all);

		for (size_t j = 1; j < all.list->count && !r->failed; j++) {
			struct yq_node *n = all.list->item[j], *better;

			yq_must_know(r, n, YQ_BY_TYPE);
			yq_must_know(r, best, YQ_BY_TYPE);
			better = r->failed ? NULL : compare(r, c, n, best, x->flags);
			if (better && yq_truthy(r, better))
				best = n;
		}
		if (best)
			yq_push(r, out, best);
	}
	return yq_over(r, c, out);
}

/* flags: what the left side must be for the right side to be spared. */
static struct yq_node *decided(struct yq_run *r, struct yq_ctx c, struct yq_node *a, struct yq_node *b,
			       unsigned flags)
{
	(void)c;
	(void)b;
	return yq_truthy(r, a) == (flags != 0) ? yq_bool_at(r, a, flags) : NULL;
}

static struct yq_node *right_decides(struct yq_run *r, struct yq_ctx c, struct yq_node *a, struct yq_node *b,
				     unsigned flags)
{
	(void)c;
	(void)flags;
	return yq_bool_at(r, a ? a : b, yq_truthy(r, b));
}

static struct yq_ctx run_or(struct yq_run *r, struct yq_ctx c, const struct yq_exp *x)
{
	static const struct yq_cross how = {
		.pair = right_decides, .flags = true, .when_empty = true, .alone = decided,
	};

	return yq_cross(r, yq_read_only(r, c), x, &how);
}

static struct yq_ctx run_and(struct yq_run *r, struct yq_ctx c, const struct yq_exp *x)
{
	static const struct yq_cross how = {
		.pair = right_decides, .flags = false, .when_empty = true, .alone = decided,
	};

	return yq_cross(r, yq_read_only(r, c), x, &how);
}

static struct yq_node *negated(struct yq_run *r, struct yq_ctx c, struct yq_node *n, const struct yq_exp *x)
{
	(void)c;
	(void)x;
	return yq_bool_at(r, n, !yq_truthy(r, n));
}

static struct yq_ctx run_not(struct yq_run *r, struct yq_ctx c, const struct yq_exp *x)
{
	return yq_each(r, c, x, negated);
}

static struct yq_node *if_truthy(struct yq_run *r, struct yq_ctx c, struct yq_node *a, struct yq_node *b,
				 unsigned flags)
{
	(void)c;
	(void)b;
	(void)flags;
	return a && yq_truthy(r, a) ? a : NULL;
}

static struct yq_node *either(struct yq_run *r, struct yq_ctx c, struct yq_node *a, struct yq_node *b, unsigned flags)
{
	(void)r;
	(void)c;
	(void)flags;
	return b ? b : a;
}

static struct yq_ctx run_alternative(struct yq_run *r, struct yq_ctx c, const struct yq_exp *x)
{
	static const struct yq_cross how = { .pair = either, .when_empty = true, .alone = if_truthy };

	return yq_cross(r, c, x, &how);
}

const struct yq_op yq_op_equals = { "==", 2, 40, false, 0, run_equals };
const struct yq_op yq_op_differs = { "!=", 2, 40, false, 0, run_differs };
const struct yq_op yq_op_compare = { "a comparison", 2, 40, false, 0, run_compare };
const struct yq_op yq_op_extreme = { "min, max", 0, 40, false, 0, run_extreme };
const struct yq_op yq_op_or = { "or", 2, 20, false, 0, run_or };
const struct yq_op yq_op_and = { "and", 2, 20, false, 0, run_and };
const struct yq_op yq_op_not = { "not", 0, 50, false, 0, run_not };
const struct yq_op yq_op_alternative = { "//", 2, 42, false, 0, run_alternative };
