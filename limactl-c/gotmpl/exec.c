/* Carrying out the steps of a template. */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "limactl-c/base/text.h"
#include "limactl-c/gotmpl/tree.h"

enum { KEYS_A_STEP = 64, NAME_SHOWN = 80, KNOWN_MAX = 100 };
enum flow { FLOW_ON, FLOW_BREAK, FLOW_CONTINUE, FLOW_FAILED };

struct variable {
	struct word name;
	struct value value;
};
struct machine {
	struct run *run;
	struct buf *out;
	struct value data; /* "$" */
	struct variable *variable;
	size_t variables, room;
};

static void push(struct machine *m, struct word name, const struct value *v)
{
	if (m->variables == m->room) {
		size_t room = m->room ? 2 * m->room : 8;
		struct variable *bigger = yn_alloc(m->run->pool, room * sizeof(*bigger));

		if (m->variables)
			memcpy(bigger, m->variable, m->variables * sizeof(*bigger));
		m->variable = bigger;
		m->room = room;
	}
	m->variable[m->variables++] = (struct variable){ name, *v };
}

static struct value *find_variable(struct machine *m, struct word name)
{
	if (name.len == 1)
		return &m->data;
	for (size_t i = m->variables; i > 0; i--) {
		struct variable *v = &m->variable[i - 1];

		if (v->name.len == name.len && !memcmp(v->name.s, name.s, name.len))
			return &v->value;
	}
	run_fail(m->run, "there is no variable %.*s here", (int)name.len, name.s);
	return NULL;
}

/* The index of the map's field, count when there is none. */
static size_t find_field(struct run *r, const struct ynode *map, struct word name)
{
	size_t i = yn_find(map, name.s, name.len);

	r->steps += map->count / KEYS_A_STEP;
	if (i < map->count || !r->fold)
		return i;
	for (i = 0; i < map->count; i++) {
		if (map->key[i]->len == name.len && !strncasecmp(map->key[i]->text, name.s, name.len))
			break;
	}
	return i;
}

static int no_field(struct run *r, const struct ynode *map, struct word name)
{
	char copy[NAME_SHOWN + 1];
	const char *known[KNOWN_MAX], *near;
	size_t count = map->count < KNOWN_MAX ? map->count : KNOWN_MAX;

	snprintf(copy, sizeof(copy), "%.*s", (int)(name.len < NAME_SHOWN ? name.len : NAME_SHOWN), name.s);
	for (size_t i = 0; i < count; i++)
		known[i] = map->key[i]->text;
	near = text_nearest(copy, known, count);
	return run_fail(r, "there is no field \"%s\"%s%s%s", copy, near ? "; did you mean \"" : "", near ? near : "", near ? "\"?" : "");
}

/* *v becomes its field. */
static int take_field(struct run *r, struct value *v, const struct field *f)
{
	const struct ynode *map = v->node;
	struct word name = f->name;
	int shown = name.len > NAME_SHOWN ? NAME_SHOWN : (int)name.len;
	size_t i;

	if (v->kind == VALUE_NONE && (r->any_missing || v->open))
		return 0;
	if (v->kind != VALUE_MAP)
		return run_fail(r, "there is no field \"%.*s\" in %s", shown, name.s, value_word(v));
	i = find_field(r, map, name);
	if (i == map->count && map == r->data && r->also) {
		map = r->also;
		i = find_field(r, map, name);
	}
	if (i < map->count)
		return run_value(r, map->item[i], v->open, v);
	if (!r->any_missing && !v->open)
		return no_field(r, v->node, name);
	*v = (struct value){ .kind = VALUE_NONE, .open = v->open, .s = r->any_missing ? NULL : name.s, .len = (size_t)shown };
	return 0;
}

static int evaluate_pipe(struct machine *m, const struct value *dot, const struct pipe *pipe, struct value *out);
static int evaluate_function(struct machine *m, const struct value *dot, const struct arg *a, bool args,
			     const struct value *final, struct value *out);

/* An argument; functions are called without arguments of their own. */
static int evaluate_arg(struct machine *m, const struct value *dot, const struct arg *a, struct value *out)
{
	const struct value *v;
	int rc = 0;

	m->run->line = a->line;
	if (run_step(m->run) < 0)
		return -1;
	switch (a->kind) {
	case ARG_DOT:
		*out = *dot;
		break;
	case ARG_NIL:
		*out = (struct value){ .kind = VALUE_NULL };
		break;
	case ARG_VARIABLE:
		v = find_variable(m, a->text);
		if (!v)
			return -1;
		*out = *v;
		break;
	case ARG_CONSTANT:
		*out = a->value;
		break;
	case ARG_FUNCTION:
		rc = evaluate_function(m, dot, a, false, NULL, out);
		break;
	case ARG_PIPE:
		rc = evaluate_pipe(m, dot, a->pipe, out);
		break;
	}
	m->run->line = a->line;
	for (const struct field *f = a->fields; f && !rc; f = f->next)
		rc = take_field(m->run, out, f);
	return rc;
}

/* and, or: no argument is looked at behind the one that decides. */
static int evaluate_logic(struct machine *m, const struct value *dot, const struct arg *a, const struct value *final,
			  bool until, struct value *out)
{
	for (; a; a = a->next) {
		if (evaluate_arg(m, dot, a, out) < 0)
			return -1;
		if (value_truth(out) == until)
			return 0;
	}
	if (final)
		*out = *final;
	return 0;
}

static int call(struct run *r, const struct function *f, const struct value *v, size_t n, struct value *out)
{
	for (size_t i = 0; i < n; i++) {
		if (v[i].kind == VALUE_NONE && v[i].s && !f->takes_none)
			return run_fail(r, "there is no field \"%.*s\"", (int)v[i].len, v[i].s);
	}
	return f->call(r, f, v, n, out);
}

/* a->next… are its arguments when args is set; final comes behind them. */
static int evaluate_function(struct machine *m, const struct value *dot, const struct arg *a, bool args,
			     const struct value *final, struct value *out)
{
	const struct function *f = a->function;
	const struct arg *first = args ? a->next : NULL;
	struct value v[ARGUMENTS_MAX];
	size_t n = final ? 1 : 0;

	for (const struct arg *each = first; each; each = each->next)
		n++;
	if (n < f->least || n > f->most)
		return run_fail(m->run, "%s takes %s%u argument%s, not %zu", f->name, f->most > f->least && n < f->least ? "at least " :
				f->most > f->least ? "at most " : "", n < f->least ? f->least : f->most,
				(n < f->least ? f->least : f->most) == 1 ? "" : "s", n);
	if (!f->call)
		return evaluate_logic(m, dot, first, final, *f->name == 'o', out);
	n = 0;
	for (const struct arg *each = first; each; each = each->next) {
		if (evaluate_arg(m, dot, each, &v[n++]) < 0)
			return -1;
	}
	if (final)
		v[n++] = *final;
	m->run->line = a->line;
	return call(m->run, f, v, n, out);
}

/* One command of a pipeline; final: what the one before it gave. */
static int evaluate_command(struct machine *m, const struct value *dot, const struct command *c, const struct value *final,
			    struct value *out)
{
	const struct arg *a = c->args;

	m->run->line = a->line;
	if (a->kind == ARG_FUNCTION && !a->fields)
		return run_step(m->run) < 0 ? -1 : evaluate_function(m, dot, a, true, final, out);
	if (a->next || final)
		return run_fail(m->run, "\"%.*s\" is no function, it takes no arguments", a->text.len > 40 ? 40 : (int)a->text.len,
				a->text.s);
	if (a->kind == ARG_NIL)
		return run_fail(m->run, "nil is no command");
	return evaluate_arg(m, dot, a, out);
}

static int evaluate_pipe(struct machine *m, const struct value *dot, const struct pipe *pipe, struct value *out)
{
	struct value given, *final = NULL;

	for (const struct command *c = pipe->commands; c; c = c->next) {
		if (evaluate_command(m, dot, c, final, out) < 0)
			return -1;
		if (out->kind == VALUE_NULL)
			out->kind = VALUE_NONE;
		given = *out;
		final = &given;
	}
	for (unsigned i = 0; i < pipe->variables; i++) {
		struct value *v;

		if (!pipe->assigns) {
			push(m, pipe->variable[i], out);
			continue;
		}
		v = find_variable(m, pipe->variable[i]);
		if (!v)
			return -1;
		*v = *out;
	}
	return 0;
}

static enum flow walk(struct machine *m, const struct value *dot, const struct step *s);

static enum flow walk_choice(struct machine *m, const struct value *dot, const struct step *s)
{
	size_t mark = m->variables;
	enum flow flow = FLOW_FAILED;
	struct value v;

	if (evaluate_pipe(m, dot, s->pipe, &v) == 0) {
		bool truth = value_truth(&v);

		flow = walk(m, truth && s->kind == STEP_WITH ? &v : dot, truth ? s->body : s->otherwise);
	}
	m->variables = mark;
	return flow;
}

/* The loop's variables, and its body with each as ".". */
static enum flow iterate(struct machine *m, const struct step *s, const struct value *index, const struct value *each)
{
	const struct pipe *p = s->pipe;
	size_t mark = m->variables;
	const struct value *value[] = { p->variables == 2 ? index : each, each };
	enum flow flow;

	for (unsigned i = 0; i < p->variables; i++) {
		struct value *v = p->assigns ? find_variable(m, p->variable[i]) : &m->variable[mark - p->variables + i].value;

		if (!v)
			return FLOW_FAILED;
		*v = *value[i];
	}
	flow = run_step(m->run) < 0 ? FLOW_FAILED : walk(m, each, s->body);
	m->variables = mark;
	return flow == FLOW_CONTINUE ? FLOW_ON : flow;
}

static enum flow range_node(struct machine *m, const struct step *s, const struct value *v)
{
	const struct ynode *n = v->node;
	const size_t *order = n->kind == YN_MAP ? value_sorted(m->run->pool, n) : NULL;
	enum flow flow = FLOW_ON;

	for (size_t i = 0; i < n->count && flow == FLOW_ON; i++) {
		size_t at = order ? order[i] : i;
		struct value each, index = order ? value_string(n->key[at]->text, n->key[at]->len) : value_int((int64_t)i);

		if (run_value(m->run, n->item[at], v->open, &each) < 0)
			return FLOW_FAILED;
		flow = iterate(m, s, &index, &each);
	}
	return flow;
}

static enum flow range_number(struct machine *m, const struct step *s, int64_t count)
{
	enum flow flow = FLOW_ON;

	if (s->pipe->variables == 2) {
		m->run->line = s->line;
		run_fail(m->run, "a range over a number sets one variable, not two");
		return FLOW_FAILED;
	}
	for (int64_t i = 0; i < count && flow == FLOW_ON; i++) {
		struct value each = value_int(i);

		flow = iterate(m, s, NULL, &each);
	}
	return flow;
}

static enum flow walk_range(struct machine *m, const struct value *dot, const struct step *s)
{
	size_t mark = m->variables;
	enum flow flow = FLOW_FAILED;
	struct value v;
	bool number;

	if (evaluate_pipe(m, dot, s->pipe, &v) < 0)
		return FLOW_FAILED;
	number = v.kind == VALUE_INT;
	if (v.kind == VALUE_BOOL || v.kind == VALUE_FLOAT || v.kind == VALUE_STRING) {
		m->run->line = s->line;
		run_fail(m->run, "range takes a list, a mapping or a whole number, not %s", value_word(&v));
		return FLOW_FAILED;
	}
	if (number && (v.i > 0 || s->pipe->variables == 2))
		flow = range_number(m, s, v.i);
	else if (!number && value_truth(&v))
		flow = range_node(m, s, &v);
	else
		flow = walk(m, dot, s->otherwise); /* as in Go, a break there ends only this range */
	m->variables = mark;
	return flow == FLOW_BREAK ? FLOW_ON : flow;
}

static enum flow print(struct machine *m, const struct value *dot, const struct step *s)
{
	struct value v;

	if (evaluate_pipe(m, dot, s->pipe, &v) < 0)
		return FLOW_FAILED;
	if (s->pipe->variables)
		return FLOW_ON;
	if (v.kind == VALUE_NONE && v.s) {
		run_fail(m->run, "there is no field \"%.*s\"", (int)v.len, v.s);
		return FLOW_FAILED;
	}
	if (v.kind == VALUE_NONE && buf_adds(m->out, "<no value>") < 0) {
		run_no_room(m->run);
		return FLOW_FAILED;
	}
	return v.kind == VALUE_NONE || value_print(&v, m->out, m->run->e) == 0 ? FLOW_ON : FLOW_FAILED;
}

static enum flow walk(struct machine *m, const struct value *dot, const struct step *s)
{
	enum flow flow = FLOW_ON;

	for (; s && flow == FLOW_ON; s = s->next) {
		m->run->line = s->line;
		if (run_step(m->run) < 0)
			return FLOW_FAILED;
		switch (s->kind) {
		case STEP_TEXT:
			if (buf_add(m->out, s->text.s, s->text.len) < 0) {
				run_no_room(m->run);
				flow = FLOW_FAILED;
			}
			break;
		case STEP_PRINT:
			flow = print(m, dot, s);
			break;
		case STEP_IF:
		case STEP_WITH:
			flow = walk_choice(m, dot, s);
			break;
		case STEP_RANGE:
			flow = walk_range(m, dot, s);
			break;
		case STEP_BREAK:
			return FLOW_BREAK;
		case STEP_CONTINUE:
			return FLOW_CONTINUE;
		}
	}
	return flow;
}

int template_execute(struct run *r, const struct step *steps, const struct value *data, struct buf *out)
{
	struct machine m = { .run = r, .out = out, .data = *data };

	return walk(&m, data, steps) == FLOW_FAILED ? -1 : 0;
}
