/* What holds expressions together: values, texts, pipes, lists of results, variables, reduce. */
#include <string.h>

#include "lib/buf.h"
#include "limactl-c/yq/eval.h"
#include "limactl-c/yq/parse.h"

static struct yq_ctx run_self(struct yq_run *r, struct yq_ctx c, const struct yq_exp *x)
{
	(void)r;
	(void)x;
	return c;
}

static struct yq_ctx run_empty(struct yq_run *r, struct yq_ctx c, const struct yq_exp *x)
{
	(void)x;
	c.list = yq_new_list(r);
	return c;
}

static struct yq_ctx run_node(struct yq_run *r, struct yq_ctx c, const struct yq_exp *x)
{
	return yq_over_one(r, c, x->node);
}

static struct yq_ctx run_value(struct yq_run *r, struct yq_ctx c, const struct yq_exp *x)
{
	struct yq_list *out = yq_new_list(r);

	for (size_t i = 0; (i < c.list->count || !i) && !r->failed; i++)
		yq_push(r, out, yq_copy(r, x->node));
	return yq_over(r, c, out);
}

/* The text of what an expression in \( ) gives. */
static struct yq_node *interpolated(struct yq_run *r, struct yq_ctx c, const char *text, size_t len)
{
	struct yq_ctx got = yq_eval(r, c, yq_parse(r, yn_strndup(r->pool, text, len), r->at));
	struct yq_node *n = yq_first_of(&got);

	if (r->failed || !n)
		return yq_word(r, YQ_STR, "");
	yq_must_know(r, n, YQ_BY_TEXT);
	if (n->shape != YQ_SCALAR)
		yq_fail(r, "\\( ) with a list or a map in it is not supported");
	return n;
}

/* End of the expression behind \(, its closing bracket; without the escapes in out. */
static const char *inner_end(const char *p, const char *end, char *out, size_t *n)
{
	unsigned open = 0;

	for (*n = 0; p < end; p++) {
		if (*p == ')' && !open--)
			return p;
		if (*p == '(')
			open++;
		if (*p == '\\' && p + 1 < end && (p[1] == ')' || p[1] == '\\'))
			p++;
		out[(*n)++] = *p;
	}
	return NULL;
}

static struct yq_node *interpolate(struct yq_run *r, struct yq_ctx c, const struct yq_exp *x)
{
	const char *end = x->text + x->len;
	auto_buf text = BUF_INIT(YN_TEXT_MAX);
	bool full = false;
	char *inner;
	size_t n;

	if (!memchr(x->text, '\\', x->len))
		return yq_scalar(r, YQ_STR, x->text, x->len);
	inner = yn_alloc(r->pool, x->len);
	for (const char *p = x->text; p < end && !r->failed; p++) {
		struct yq_node *got;

		if (*p != '\\' || p + 1 == end || p[1] != '(') {
			p += *p == '\\' && p + 1 < end && p[1] == '\\';
			full |= buf_add(&text, p, 1) < 0;
			continue;
		}
		p = inner_end(p + 2, end, inner, &n);
		if (!p)
			return yq_scalar(r, YQ_STR, x->text, x->len); /* not closed: no interpolation at all */
		got = interpolated(r, c, inner, n);
		full |= buf_add(&text, got->text, got->len) < 0;
	}
	if (full)
		yq_fail(r, "the text becomes too long");
	return yq_scalar(r, YQ_STR, text.data ? text.data : "", text.len);
}

static struct yq_ctx run_string(struct yq_run *r, struct yq_ctx c, const struct yq_exp *x)
{
	struct yq_list *out = yq_new_list(r);

	if (!c.list->count)
		yq_push(r, out, interpolate(r, c, x));
	for (size_t i = 0; i < c.list->count && !r->failed; i++)
		yq_push(r, out, interpolate(r, yq_over_one(r, c, c.list->item[i]), x));
	return yq_over(r, c, out);
}

/* x as $name | right: once for each value of x, once without the variable when there is none. */
static struct yq_ctx bind(struct yq_run *r, struct yq_ctx c, const struct yq_exp *pipe)
{
	const struct yq_exp *as = pipe->left;
	struct yq_ctx values = yq_eval(r, yq_read_only(r, c), as->left);
	struct yq_list *out = yq_new_list(r);

	if (as->right->op != &yq_op_variable)
		yq_fail(r, "`as` needs a name with $ behind it");
	if (!values.list->count)
		return yq_eval(r, c, pipe->right);
	for (size_t i = 0; i < values.list->count && !r->failed; i++) {
		struct yq_ctx inner = yq_over(r, c, c.list);
		struct yq_node *n = values.list->item[i];
		struct yq_list *value = yq_new_list(r);

		yq_push(r, value, as->flags & YQ_BY_REFERENCE ? n : yq_copy(r, n));
		yq_set_var(r, &inner, as->right->text, value);
		yq_push_all(r, out, yq_eval(r, inner, pipe->right).list);
	}
	return yq_over(r, c, out);
}

static struct yq_ctx run_pipe(struct yq_run *r, struct yq_ctx c, const struct yq_exp *x)
{
	struct yq_list *out;

	if (x->left->op != &yq_op_as) {
		struct yq_ctx left = yq_eval(r, c, x->left);

		return yq_over(r, c, yq_eval(r, yq_over(r, c, left.list), x->right).list);
	}
	if (yq_together(&c))
		return bind(r, c, x);
	out = yq_new_list(r);
	for (size_t i = 0; i < c.list->count && !r->failed; i++)
		yq_push_all(r, out, bind(r, yq_over_one(r, c, c.list->item[i]), x).list);
	return yq_over(r, c, out);
}

static struct yq_ctx run_as(struct yq_run *r, struct yq_ctx c, const struct yq_exp *x)
{
	(void)x;
	yq_fail(r, "`as` needs a pipe behind it: .a as $x | ...");
	return c;
}

static struct yq_ctx run_variable(struct yq_run *r, struct yq_ctx c, const struct yq_exp *x)
{
	for (struct yq_var *v = c.scope ? c.scope->first : NULL; v; v = v->next) {
		if (!strcmp(v->name, x->text))
			return yq_over(r, c, v->value);
	}
	return yq_over(r, c, yq_new_list(r));
}

/* .[] as $x ireduce (start; step) */
static struct yq_ctx run_reduce(struct yq_run *r, struct yq_ctx c, const struct yq_exp *x)
{
	struct yq_ctx values, sum;

	if (x->left->op != &yq_op_as || x->left->right->op != &yq_op_variable || x->right->op != &yq_op_block) {
		yq_fail(r, "ireduce is written: .[] as $x ireduce (start; step)");
		return c;
	}
	values = yq_eval(r, c, x->left->left);
	sum = yq_eval(r, c, x->right->left);
	for (size_t i = 0; i < values.list->count && !r->failed; i++) {
		struct yq_list *value = yq_new_list(r);

		yq_push(r, value, values.list->item[i]);
		yq_set_var(r, &sum, x->left->right->text, value);
		sum = yq_eval(r, sum, x->right->right);
	}
	return sum;
}

static struct yq_ctx run_union(struct yq_run *r, struct yq_ctx c, const struct yq_exp *x)
{
	struct yq_ctx left = yq_eval(r, c, x->left), right = yq_eval(r, c, x->right);
	struct yq_list *out = yq_new_list(r);

	/* Both may have changed what they were given and passed it on: it is there once. */
	yq_push_all(r, out, left.list);
	if (left.list != right.list)
		yq_push_all(r, out, right.list);
	return yq_over(r, left, out);
}

static struct yq_ctx run_collect(struct yq_run *r, struct yq_ctx c, const struct yq_exp *x)
{
	struct yq_list *out = yq_new_list(r), *all = yq_new_list(r);
	struct yq_node *n;

	if (!c.list->count) {
		n = yq_collection(r, YQ_LIST);
		n->text = "[]";
		n->len = 2;
		return yq_over_one(r, c, n);
	}
	if (yq_together(&c)) {
		for (size_t i = 0; i < c.list->count && !r->failed; i++)
			yq_push_all(r, all, yq_eval(r, yq_read_one(r, c, c.list->item[i]), x->right).list);
		return yq_over_one(r, c, yq_gather(r, all));
	}
	for (size_t i = 0; i < c.list->count && !r->failed; i++) {
		struct yq_ctx got = yq_eval(r, yq_over_one(r, c, c.list->item[i]), x->right);

		n = yq_gather(r, got.list);
		yq_push(r, out, yq_at(c.list->item[i], n));
	}
	return yq_over(r, c, out);
}

const struct yq_op yq_op_self = { ".", 0, 55, false, 0, run_self };
const struct yq_op yq_op_value = { "a value", 0, 50, false, 0, run_value };
const struct yq_op yq_op_node = { "a value", 0, 50, false, 0, run_node };
const struct yq_op yq_op_string = { "a text", 0, 50, false, 0, run_string };
const struct yq_op yq_op_empty = { "nothing", 0, 50, false, 0, run_empty };
const struct yq_op yq_op_pipe = { "|", 2, 30, false, 0, run_pipe };
const struct yq_op yq_op_short_pipe = { "a path", 2, 45, false, 0, run_pipe };
const struct yq_op yq_op_union = { ",", 2, 10, false, 0, run_union };
const struct yq_op yq_op_block = { ";", 2, 10, false, 0, run_empty };
const struct yq_op yq_op_as = { "as", 2, 40, false, 0, run_as };
const struct yq_op yq_op_variable = { "a variable", 0, 55, true, 0, run_variable };
const struct yq_op yq_op_reduce = { "ireduce", 2, 35, false, 0, run_reduce };
const struct yq_op yq_op_collect = { "[ ]", 1, 50, false, 0, run_collect };
