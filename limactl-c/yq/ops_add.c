/* + and - of numbers, texts, lists and maps. */
#include <string.h>

#include "limactl-c/yq/arith.h"
#include "limactl-c/yq/eval.h"
#include "limactl-c/yq/number.h"

const char *yq_tag_word(enum yq_tag tag)
{
	static const char *const word[] = {
		[YQ_TAG_NONE] = "nothing", [YQ_STR] = "text",  [YQ_INT] = "a number",      [YQ_FLOAT] = "a number",
		[YQ_BOOL] = "true/false",  [YQ_NULL] = "null", [YQ_TAG_LIST] = "a list", [YQ_TAG_MAP] = "a map",
	};

	return word[tag];
}

struct yq_node *yq_in_place_of(struct yq_run *r, const struct yq_node *n, const struct yq_node *scalar)
{
	struct yq_node *out = yq_copy_shell(r, n);

	out->shape = YQ_SCALAR;
	out->tag = scalar->tag;
	out->text = scalar->text;
	out->len = scalar->len;
	out->marks = 0;
	out->from = NULL;
	return out;
}

bool yq_floats(struct yq_run *r, const struct yq_node *a, const struct yq_node *b, double *x, double *y)
{
	bool ok;

	*x = *y = 0;
	ok = (a->tag == YQ_INT || a->tag == YQ_FLOAT) && (b->tag == YQ_INT || b->tag == YQ_FLOAT);

	if (ok && (!yq_parse_float(a->text, x) || !yq_parse_float(b->text, y)))
		yq_fail(r, "%.60s and %.60s cannot be calculated with each other", a->text, b->text);
	return ok;
}

bool yq_ints(struct yq_run *r, const struct yq_node *a, const struct yq_node *b, struct yq_ints *out)
{
	bool ok = a->tag == YQ_INT && b->tag == YQ_INT;

	*out = (struct yq_ints){ 0 };
	if (ok && (!yq_parse_int(a->text, &out->a, &out->base) || !yq_parse_int(b->text, &out->b, NULL)))
		yq_fail(r, "%.60s or %.60s is out of range", a->text, b->text);
	return ok;
}

static struct yq_node *add_scalars(struct yq_run *r, const struct yq_node *a, const struct yq_node *b)
{
	struct yq_ints i;
	double x, y;

	if (a->tag == YQ_STR && b->tag == YQ_NULL)
		return yq_in_place_of(r, a, a);
	if (a->tag == YQ_STR || b->tag == YQ_STR) {
		char *text = yn_alloc(r->pool, a->len + b->len + 1);

		memcpy(text, a->text, a->len);
		memcpy(text + a->len, b->text, b->len);
		return yq_in_place_of(r, a, yq_scalar(r, YQ_STR, text, a->len + b->len));
	}
	if (yq_ints(r, a, b, &i))
		return yq_in_place_of(r, a, yq_int_node(r, (int64_t)((uint64_t)i.a + (uint64_t)i.b), i.base));
	if (yq_floats(r, a, b, &x, &y))
		return yq_in_place_of(r, a, yq_float_node(r, x + y));
	yq_fail(r, "%s and %s cannot be added", yq_tag_word(a->tag), yq_tag_word(b->tag));
	return NULL;
}

static struct yq_node *add_maps(struct yq_run *r, const struct yq_node *a, const struct yq_node *b)
{
	struct yq_node *out = yq_copy(r, a);

	if (!a->count)
		out->style = YN_PLAIN;
	for (size_t i = 0; i + 1 < b->count && !r->failed; i += 2) {
		const struct yq_node *key = b->child[i];
		size_t at = yq_find_key(r, out, key);

		if (at < out->count) {
			struct yq_node *value = yq_copy_at(r, out->child[at + 1], b->child[i + 1]);

			out->child[at + 1] = value;
		} else {
			yq_add_pair(r, out, key, b->child[i + 1]);
		}
	}
	return out;
}

static struct yq_node *add_lists(struct yq_run *r, const struct yq_node *a, const struct yq_node *b)
{
	struct yq_node *out = yq_copy(r, a), *one;

	if (!a->count)
		out->style = YN_PLAIN;
	if (b->tag == YQ_NULL)
		return out;
	if (b->shape == YQ_LIST) {
		yq_add_children(r, out, b->child, b->count);
		return out;
	}
	one = yq_copy(r, b);
	if (a->count)
		one->style = a->child[0]->style;
	yq_add_item(r, out, one);
	return out;
}

static struct yq_node *add(struct yq_run *r, struct yq_ctx c, struct yq_node *a, struct yq_node *b, unsigned flags)
{
	(void)c;
	(void)flags;
	if (!a || !b)
		return a ? yq_copy(r, a) : b ? yq_copy(r, b) : NULL;
	if (a->tag == YQ_NULL)
		return yq_copy_at(r, a, b);
	if (a->shape == YQ_LIST)
		return add_lists(r, a, b);
	if (a->shape != b->shape) {
		yq_fail(r, "%s and %s cannot be added", yq_tag_word(a->tag), yq_tag_word(b->tag));
		return NULL;
	}
	return a->shape == YQ_MAP ? add_maps(r, a, b) : add_scalars(r, a, b);
}

static struct yq_ctx run_add(struct yq_run *r, struct yq_ctx c, const struct yq_exp *x)
{
	struct yq_cross how = { .pair = add, .when_empty = c.list->count, .marks = YQ_BY_TYPE };

	return yq_cross(r, yq_read_only(r, c), x, &how);
}

static struct yq_node *subtract_lists(struct yq_run *r, const struct yq_node *a, const struct yq_node *b)
{
	struct yq_node *out = yq_copy_shell(r, a);

	for (size_t i = 0; i < a->count && !r->failed; i++) {
		bool found = false;

		for (size_t j = 0; j < b->count && !found && !r->failed; j++)
			found = yq_same(r, a->child[i], b->child[j]);
		if (!found)
			yq_push_child(r, out, a->child[i]);
	}
	return out;
}

static struct yq_node *subtract(struct yq_run *r, struct yq_ctx c, struct yq_node *a, struct yq_node *b, unsigned flags)
{
	struct yq_ints i;
	double x, y;

	(void)c;
	(void)flags;
	if (a->tag == YQ_NULL)
		return yq_copy_at(r, a, b);
	if (a->shape == YQ_LIST && b->shape == YQ_LIST)
		return subtract_lists(r, a, b);
	if (a->shape == YQ_SCALAR && b->shape == YQ_SCALAR) {
		if (yq_ints(r, a, b, &i))
			return yq_in_place_of(r, a, yq_int_node(r, (int64_t)((uint64_t)i.a - (uint64_t)i.b), i.base));
		if (yq_floats(r, a, b, &x, &y))
			return yq_in_place_of(r, a, yq_float_node(r, x - y));
	}
	yq_fail(r, "%s cannot be subtracted from %s", yq_tag_word(b->tag), yq_tag_word(a->tag));
	return NULL;
}

static struct yq_ctx run_subtract(struct yq_run *r, struct yq_ctx c, const struct yq_exp *x)
{
	static const struct yq_cross how = { .pair = subtract, .marks = YQ_BY_TYPE };

	return yq_cross(r, yq_read_only(r, c), x, &how);
}

const struct yq_op yq_op_add = { "+", 2, 42, false, 0, run_add };
const struct yq_op yq_op_subtract = { "-", 2, 42, false, 0, run_subtract };
