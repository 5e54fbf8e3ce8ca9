#include "limactl-c/yq/eval.h"

#include <string.h>

struct yq_list *yq_new_list(struct yq_run *r)
{
	return yn_alloc(r->pool, sizeof(struct yq_list));
}

void yq_push(struct yq_run *r, struct yq_list *l, struct yq_node *n)
{
	if (l->count == l->room) {
		size_t room = l->room ? 2 * l->room : 4;
		struct yq_node **grown = yn_alloc(r->pool, room * sizeof(*grown));

		if (l->count)
			memcpy(grown, l->item, l->count * sizeof(*grown));
		l->item = grown;
		l->room = room;
	}
	l->item[l->count++] = n;
	yq_step(r);
	if (l->count > YN_NODES_MAX)
		yq_fail(r, "more than %d results", YN_NODES_MAX);
}

void yq_push_all(struct yq_run *r, struct yq_list *l, const struct yq_list *more)
{
	for (size_t i = 0; i < more->count && !r->failed; i++)
		yq_push(r, l, more->item[i]);
}

struct yq_ctx yq_over(struct yq_run *r, struct yq_ctx c, struct yq_list *l)
{
	struct yq_ctx out = { l, yn_alloc(r->pool, sizeof(*out.scope)), c.read_only };
	struct yq_var **tail = &out.scope->first;

	for (const struct yq_var *v = c.scope ? c.scope->first : NULL; v; v = v->next) {
		*tail = yn_alloc(r->pool, sizeof(**tail));
		(*tail)->name = v->name;
		(*tail)->value = yn_alloc(r->pool, sizeof(*v->value));
		*(*tail)->value = *v->value;
		tail = &(*tail)->next;
	}
	yq_step(r);
	return out;
}

struct yq_ctx yq_over_one(struct yq_run *r, struct yq_ctx c, struct yq_node *n)
{
	struct yq_list *l = yq_new_list(r);

	yq_push(r, l, n);
	return yq_over(r, c, l);
}

struct yq_ctx yq_read_one(struct yq_run *r, struct yq_ctx c, struct yq_node *n)
{
	struct yq_ctx out = yq_over_one(r, c, n);

	out.read_only = true;
	return out;
}

struct yq_ctx yq_read_only(struct yq_run *r, struct yq_ctx c)
{
	struct yq_ctx out = yq_over(r, c, c.list);

	out.read_only = true;
	return out;
}

struct yq_ctx yq_writable(struct yq_run *r, struct yq_ctx c)
{
	struct yq_ctx out = yq_over(r, c, c.list);

	out.read_only = false;
	return out;
}

void yq_set_var(struct yq_run *r, struct yq_ctx *c, const char *name, struct yq_list *value)
{
	struct yq_var *v;

	if (!c->scope)
		c->scope = yn_alloc(r->pool, sizeof(*c->scope));
	for (v = c->scope->first; v && strcmp(v->name, name); v = v->next)
		;
	if (!v) {
		v = yn_alloc(r->pool, sizeof(*v));
		v->name = name;
		v->next = c->scope->first;
		c->scope->first = v;
	}
	v->value = value;
}

bool yq_together(const struct yq_ctx *c)
{
	for (size_t i = 0; i < c->list->count; i++) {
		if (!c->list->item[i]->together)
			return false;
	}
	return true;
}

struct yq_node *yq_first_of(const struct yq_ctx *c)
{
	return c->list->count ? c->list->item[0] : NULL;
}

bool yq_any_truthy(struct yq_run *r, const struct yq_ctx *c)
{
	for (size_t i = 0; i < c->list->count && !r->failed; i++) {
		if (yq_truthy(r, c->list->item[i]))
			return true;
	}
	return false;
}

struct yq_ctx yq_eval(struct yq_run *r, struct yq_ctx c, const struct yq_exp *x)
{
	struct yq_ctx out = c;
	size_t at = r->at;

	if (!x && !r->failed)
		return c;
	out.list = yq_new_list(r);
	if (r->failed)
		return out;
	r->at = x->at ? x->at : at;
	yq_step(r);
	for (size_t i = 0; x->op->marks && i < c.list->count; i++)
		yq_must_know(r, c.list->item[i], x->op->marks);
	if (r->nesting >= 2 * YQ_NESTING_MAX)
		yq_fail(r, "the expression is nested more than %d deep", YQ_NESTING_MAX);
	if (r->failed)
		return out;
	r->nesting++;
	c = x->op->run(r, c, x);
	r->nesting--;
	/* What comes next fails, if it fails, at the operator around this one. */
	r->at = at;
	return r->failed ? out : c;
}

/* a NULL: the left side has no value. */
static void cross_right(struct yq_run *r, struct yq_ctx c, const struct yq_exp *x, const struct yq_cross *how,
			struct yq_node *a, struct yq_list *out)
{
	struct yq_node *n = NULL;
	struct yq_ctx right;

	if (a && how->marks)
		yq_must_know(r, a, how->marks);
	if (how->alone)
		n = how->alone(r, c, a, NULL, how->flags);
	if (n) {
		yq_push(r, out, n);
		return;
	}
	right = yq_eval(r, c, x->right);
	if (how->when_empty && !right.list->count && !r->failed) {
		n = how->pair(r, c, a, NULL, how->flags);
		if (n)
			yq_push(r, out, n);
		return;
	}
	for (size_t i = 0; i < right.list->count && !r->failed; i++) {
		if (how->marks)
			yq_must_know(r, right.list->item[i], how->marks);
		n = r->failed ? NULL : how->pair(r, c, a, right.list->item[i], how->flags);
		if (n)
			yq_push(r, out, n);
	}
}

static void cross_sides(struct yq_run *r, struct yq_ctx c, const struct yq_exp *x, const struct yq_cross *how,
			struct yq_list *out)
{
	struct yq_ctx left = yq_eval(r, c, x->left);

	if (how->when_empty && c.list->count && !left.list->count && !r->failed)
		cross_right(r, c, x, how, NULL, out);
	for (size_t i = 0; i < left.list->count && !r->failed; i++)
		cross_right(r, c, x, how, left.list->item[i], out);
}

struct yq_ctx yq_cross(struct yq_run *r, struct yq_ctx c, const struct yq_exp *x, const struct yq_cross *how)
{
	struct yq_list *out = yq_new_list(r);

	if (yq_together(&c)) {
		cross_sides(r, c, x, how, out);
		return yq_over(r, c, out);
	}
	for (size_t i = 0; i < c.list->count && !r->failed; i++)
		cross_sides(r, yq_over_one(r, c, c.list->item[i]), x, how, out);
	return yq_over(r, c, out);
}

struct yq_ctx yq_each(struct yq_run *r, struct yq_ctx c, const struct yq_exp *x, yq_each_fn *fn)
{
	struct yq_list *out = yq_new_list(r);

	for (size_t i = 0; i < c.list->count && !r->failed; i++) {
		struct yq_node *n = fn(r, c, c.list->item[i], x);

		if (n)
			yq_push(r, out, n);
	}
	return yq_over(r, c, out);
}

struct yq_node *yq_gather(struct yq_run *r, const struct yq_list *l)
{
	struct yq_node *out = yq_collection(r, YQ_LIST);

	for (size_t i = 0; i < l->count && !r->failed; i++)
		yq_add_item(r, out, l->item[i]);
	return out;
}
