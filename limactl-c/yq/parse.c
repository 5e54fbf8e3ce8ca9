#include "limactl-c/yq/parse.h"

#include <string.h>

#include "limactl-c/yq/lex.h"

/* Operators waiting for their arguments, and arguments ready to be taken. Values wait like operators do: that is how
 * yq comes to its precedences. */
struct parser {
	struct yq_run *r;
	struct yq_tokens waiting;
	struct yq_exp **ready;
	unsigned *depth; /* of each ready tree */
	size_t count;
};

static void push_op(struct yq_run *r, struct yq_tokens *t, const struct yq_op *op, size_t at)
{
	yq_push_token(r, t, (struct yq_token){ YQ_OPERATION, yq_new_exp(r, op, at), false, false, at });
}

static bool is_op(const struct yq_token *t, const struct yq_op *op)
{
	return t->kind == YQ_OPERATION && t->exp->op == op;
}

/* [:2] and [1:] leave a number out; the end is the length. */
static bool slice_begins(const struct yq_tokens *in, size_t i)
{
	const struct yq_token *t = in->item;

	if (i && t[i - 1].kind == YQ_OPEN_INDEX)
		return true;
	return i >= 2 && t[i - 1].kind == YQ_OPEN_LIST &&
	       (t[i - 2].kind == YQ_OPERATION || t[i - 2].kind == YQ_CLOSE_LIST || t[i - 2].kind == YQ_CLOSE_OBJECT);
}

/* Puts in what an expression leaves out: pipes between the steps of a path, the bounds of slices, empty brackets. */
static void complete(struct yq_run *r, const struct yq_tokens *in, size_t i, struct yq_tokens *out)
{
	struct yq_token t = in->item[i];
	const struct yq_token *next = i + 1 < in->count ? &in->item[i + 1] : NULL;

	if (t.kind == YQ_OPEN_INDEX) {
		push_op(r, out, &yq_op_self, t.at);
		push_op(r, out, &yq_op_index, t.at);
		t.kind = YQ_OPEN_LIST;
		t.before_path = false;
	}
	if (is_op(&t, &yq_op_pair) && slice_begins(in, i)) {
		push_op(r, out, &yq_op_value, t.at);
		out->item[out->count - 1].exp->node = yq_word(r, YQ_INT, "0");
	}
	yq_push_token(r, out, t);
	if (!next)
		return;
	if (is_op(&t, &yq_op_pair) && next->kind == YQ_CLOSE_LIST)
		push_op(r, out, &yq_op_length, t.at);
	if ((t.kind == YQ_OPEN_LIST && next->kind == YQ_CLOSE_LIST) ||
	    (t.kind == YQ_OPEN_OBJECT && next->kind == YQ_CLOSE_OBJECT))
		push_op(r, out, &yq_op_empty, t.at);
	if (t.before_path && (is_op(next, &yq_op_path) || next->kind == YQ_OPEN_INDEX))
		push_op(r, out, &yq_op_short_pipe, next->at);
	if (t.before_path && next->kind == YQ_OPEN_LIST)
		push_op(r, out, &yq_op_index, next->at);
}

static void refuse_style(struct yq_run *r, const struct yq_token *t, const struct yq_token *next)
{
	if (t->kind == YQ_OPERATION && !strcmp(t->exp->op->name, "tag") && next && is_op(next, &yq_op_assign)) {
		r->at = t->at;
		yq_fail(r, "`tag =` is not supported");
	}
}

/* Takes its arguments from what is ready. */
static void apply(struct parser *p, struct yq_exp *x)
{
	unsigned deepest = 0, args = x->op->args;

	p->r->at = x->at;
	if (x->op == &yq_op_first && !p->count)
		args = 0;
	if (p->count < args) {
		yq_fail(p->r, "%s needs %s%s", x->op->name, args == 2 ? "a value on both sides" : "an argument",
			x->op == &yq_op_alternative ? "; there is no //=, write .x = (.x // VALUE)" : "");
		return;
	}
	if (args) {
		x->right = p->ready[--p->count];
		deepest = p->depth[p->count];
	}
	if (args == 2) {
		x->left = p->ready[--p->count];
		if (deepest < p->depth[p->count])
			deepest = p->depth[p->count];
	}
	if (deepest >= YQ_NESTING_MAX)
		yq_fail(p->r, "the expression is nested more than %d deep", YQ_NESTING_MAX);
	p->depth[p->count] = deepest + 1;
	p->ready[p->count++] = x;
}

static void apply_last(struct parser *p)
{
	apply(p, p->waiting.item[--p->waiting.count].exp);
}

/* Everything behind the opening bracket, which goes too. */
static void close_bracket(struct parser *p, enum yq_token_kind opens, size_t at)
{
	static const char *const sign[] = { "", "(", ")", "[", "]", "{", "}", ".[" };
	struct yq_tokens *w = &p->waiting;

	while (w->count && w->item[w->count - 1].kind == YQ_OPERATION && !p->r->failed)
		apply_last(p);
	p->r->at = w->count ? w->item[w->count - 1].at : at;
	if (w->count && w->item[w->count - 1].kind == opens) {
		w->count--;
		return;
	}
	p->r->at = at;
	yq_fail(p->r, w->count > 1 ? "%s is not closed here" : "nothing was opened here%.0s",
		w->count ? sign[w->item[w->count - 1].kind] : "");
}

static void close_collection(struct parser *p, const struct yq_token *t)
{
	bool list = t->kind == YQ_CLOSE_LIST;
	struct yq_tokens *w = &p->waiting;

	close_bracket(p, list ? YQ_OPEN_LIST : YQ_OPEN_OBJECT, t->at);
	if (p->r->failed)
		return;
	apply(p, yq_new_exp(p->r, list ? &yq_op_collect : &yq_op_object, t->at));
	if (!list && !p->r->failed)
		apply(p, yq_new_exp(p->r, &yq_op_short_pipe, t->at));
	if (p->r->failed || !w->count || !is_op(&w->item[w->count - 1], &yq_op_index))
		return;
	if (t->optional)
		w->item[w->count - 1].exp->flags |= YQ_OPTIONAL;
	apply_last(p);
}

static void parse_token(struct parser *p, const struct yq_token *t)
{
	struct yq_tokens *w = &p->waiting;

	p->r->at = t->at;
	switch (t->kind) {
	case YQ_OPEN:
	case YQ_OPEN_LIST:
	case YQ_OPEN_OBJECT:
		yq_push_token(p->r, w, *t);
		break;
	case YQ_CLOSE_LIST:
	case YQ_CLOSE_OBJECT:
		close_collection(p, t);
		break;
	case YQ_CLOSE:
		close_bracket(p, YQ_OPEN, t->at);
		break;
	default:
		while (w->count && w->item[w->count - 1].kind == YQ_OPERATION && !p->r->failed &&
		       w->item[w->count - 1].exp->op->precedence > t->exp->op->precedence)
			apply_last(p);
		yq_push_token(p->r, w, *t);
	}
}

static struct yq_exp *parse_all(struct parser *p, const struct yq_tokens *tokens, size_t end)
{
	yq_push_token(p->r, &p->waiting, (struct yq_token){ .kind = YQ_OPEN, .at = end });
	for (size_t i = 0; i < tokens->count && !p->r->failed; i++)
		parse_token(p, &tokens->item[i]);
	if (!p->r->failed)
		close_bracket(p, YQ_OPEN, end);
	if (p->r->failed || (!p->count && !p->waiting.count))
		return NULL;
	if (p->waiting.count) {
		/* The last bracket closed another one than the one the whole stands in. */
		yq_fail(p->r, "a bracket is not closed");
		return NULL;
	}
	if (p->count > 1) {
		p->r->at = p->ready[1]->at;
		yq_fail(p->r, "an operator is missing before this");
		return NULL;
	}
	return p->ready[0];
}

struct yq_exp *yq_parse(struct yq_run *r, const char *text, size_t at)
{
	struct yq_tokens lexed = { 0 }, tokens = { 0 };
	struct parser p = { .r = r };

	yq_lex(r, text, at, &lexed);
	for (size_t i = 0; i < lexed.count && !r->failed; i++) {
		refuse_style(r, &lexed.item[i], i + 1 < lexed.count ? &lexed.item[i + 1] : NULL);
		complete(r, &lexed, i, &tokens);
	}
	if (r->failed)
		return NULL;
	/* Each token makes at most three operators. */
	p.ready = yn_alloc(r->pool, (3 * tokens.count + 3) * sizeof(*p.ready));
	p.depth = yn_alloc(r->pool, (3 * tokens.count + 3) * sizeof(*p.depth));
	return parse_all(&p, &tokens, at + strlen(text));
}
