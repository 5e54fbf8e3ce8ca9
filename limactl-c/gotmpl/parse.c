/* Template text → steps. */
#include <string.h>

#include "limactl-c/gotmpl/lex.h"

enum ending { ENDS_END, ENDS_ELSE, ENDS_ELSE_IF, ENDS_ELSE_WITH, ENDS_TEXT };

struct declared {
	struct word name;
	struct declared *before;
};
struct parser {
	struct run *run;
	struct lexer lex;
	struct declared *declared; /* the variables known here */
	unsigned nesting, loops, variables;
};

static bool word_is(struct word w, const char *s)
{
	return w.len == strlen(s) && !memcmp(w.s, s, w.len);
}

static bool same_word(struct word a, struct word b)
{
	return a.len == b.len && !memcmp(a.s, b.s, a.len);
}

static bool at(const struct parser *p, enum token_kind kind)
{
	return p->lex.token.kind == kind;
}

static bool at_word(const struct parser *p, const char *s)
{
	return at(p, TOKEN_WORD) && word_is(p->lex.token.text, s);
}

static int unexpected(struct parser *p, const char *where)
{
	const struct token *t = &p->lex.token;

	p->run->line = t->line;
	return run_fail(p->run, "unexpected \"%.*s\" %s", t->text.len > 40 ? 40 : (int)t->text.len, t->text.s, where);
}

static int nest(struct parser *p)
{
	if (++p->nesting <= NESTING_MAX)
		return 0;
	p->run->line = p->lex.token.line;
	return run_fail(p->run, "more than %d levels of blocks and parentheses", NESTING_MAX);
}

static int declare(struct parser *p, struct word name)
{
	struct declared *d = yn_alloc(p->run->pool, sizeof(*d));

	*d = (struct declared){ name, p->declared };
	p->declared = d;
	if (++p->variables <= VARIABLES_MAX)
		return 0;
	p->run->line = p->lex.token.line;
	return run_fail(p->run, "more than %d variables", VARIABLES_MAX);
}

static bool is_declared(const struct parser *p, struct word name)
{
	const struct declared *d = p->declared;

	while (d && !same_word(d->name, name))
		d = d->before;
	return d || name.len == 1;
}

static int parse_pipe(struct parser *p, bool range, enum token_kind end, struct pipe **out);

static int parse_literal(struct parser *p, struct arg *a)
{
	int (*read)(struct run *, struct word, struct value *) = at(p, TOKEN_NUMBER)	? literal_number
								 : at(p, TOKEN_CHARACTER) ? literal_character
											  : literal_string;

	a->kind = ARG_CONSTANT;
	p->run->line = a->line;
	return read(p->run, a->text, &a->value);
}

static int parse_name(struct parser *p, struct arg *a)
{
	static const char *const keywords[] = { "if",	 "else",   "end",      "range",    "with",
						"break", "define", "continue", "template", "block" };

	for (size_t i = 0; i < sizeof(keywords) / sizeof(*keywords); i++) {
		if (word_is(a->text, keywords[i]))
			return unexpected(p, "inside an action: it must stand at its beginning");
	}
	if (word_is(a->text, "nil")) {
		a->kind = ARG_NIL;
	} else if (word_is(a->text, "true") || word_is(a->text, "false")) {
		a->kind = ARG_CONSTANT;
		a->value = value_bool(*a->text.s == 't');
	} else {
		a->kind = ARG_FUNCTION;
		a->function = function_find(p->run, a->text.s, a->text.len);
		p->run->line = a->line;
		if (!a->function)
			return run_fail(p->run, "there is no function \"%.*s\"", a->text.len > 40 ? 40 : (int)a->text.len,
					a->text.s);
	}
	return 0;
}

static int parse_parentheses(struct parser *p, struct arg *a)
{
	a->kind = ARG_PIPE;
	if (nest(p) < 0 || lex_next(&p->lex) < 0 || parse_pipe(p, false, TOKEN_CLOSE_PAREN, &a->pipe) < 0)
		return -1;
	p->nesting--;
	return 0;
}

static int parse_term(struct parser *p, struct arg *a)
{
	switch (p->lex.token.kind) {
	case TOKEN_DOT:
	case TOKEN_FIELD:
		a->kind = ARG_DOT;
		return 0;
	case TOKEN_VARIABLE:
		a->kind = ARG_VARIABLE;
		p->run->line = a->line;
		if (!is_declared(p, a->text))
			return run_fail(p->run, "there is no variable %.*s", (int)a->text.len, a->text.s);
		return 0;
	case TOKEN_WORD:
		return parse_name(p, a);
	case TOKEN_NUMBER:
	case TOKEN_CHARACTER:
	case TOKEN_STRING:
	case TOKEN_RAW:
		return parse_literal(p, a);
	case TOKEN_OPEN_PAREN:
		return parse_parentheses(p, a);
	case TOKEN_CLOSE:
		return unexpected(p, "where a value should be");
	default:
		return unexpected(p, "in an action");
	}
}

/* A value and the fields taken of it; the lexer stands behind it then. */
static int parse_arg(struct parser *p, struct arg **out)
{
	struct arg *a = yn_alloc(p->run->pool, sizeof(*a));
	struct field **field = &a->fields;
	bool first = at(p, TOKEN_FIELD), bare = at(p, TOKEN_DOT);

	a->line = p->lex.token.line;
	a->text = p->lex.token.text;
	*out = a;
	if (parse_term(p, a) < 0 || (!first && lex_next(&p->lex) < 0))
		return -1;
	for (; at(p, TOKEN_FIELD) && (first || !p->lex.token.spaced); first = false) {
		struct field *f = *field = yn_alloc(p->run->pool, sizeof(*f));

		f->name = (struct word){ p->lex.token.text.s + 1, p->lex.token.text.len - 1 };
		field = &f->next;
		if (bare || a->kind == ARG_CONSTANT || a->kind == ARG_NIL)
			return unexpected(p, "behind a value that has no fields");
		if (lex_next(&p->lex) < 0)
			return -1;
	}
	return 0;
}

static int parse_command(struct parser *p, struct command **out)
{
	struct command *c = *out = yn_alloc(p->run->pool, sizeof(*c));
	struct arg **arg = &c->args;
	size_t count = 0;

	do {
		if (count++ == ARGUMENTS_MAX) {
			p->run->line = p->lex.token.line;
			return run_fail(p->run, "more than %d words in a command", ARGUMENTS_MAX);
		}
		if (run_step(p->run) < 0 || parse_arg(p, arg) < 0)
			return -1;
		arg = &(*arg)->next;
	} while (p->lex.token.spaced && !at(p, TOKEN_CLOSE) && !at(p, TOKEN_CLOSE_PAREN) && !at(p, TOKEN_PIPE));
	return 0;
}

/* "$x :=", "$x =", "$i, $v :=" (range), or nothing of it. */
static int parse_variables(struct parser *p, bool range, struct pipe *pipe)
{
	struct lexer before = p->lex;

	while (at(p, TOKEN_VARIABLE) && pipe->variables < 2) {
		pipe->variable[pipe->variables++] = p->lex.token.text;
		if (lex_next(&p->lex) < 0)
			return -1;
		if (at(p, TOKEN_DECLARE) || at(p, TOKEN_ASSIGN)) {
			pipe->assigns = at(p, TOKEN_ASSIGN);
			for (unsigned i = 0; i < pipe->variables; i++) {
				if (declare(p, pipe->variable[i]) < 0)
					return -1;
			}
			return lex_next(&p->lex);
		}
		if (!at(p, TOKEN_COMMA))
			break;
		if (!range || pipe->variables == 2)
			return unexpected(p, "behind a variable: only range sets two");
		if (lex_next(&p->lex) < 0)
			return -1;
	}
	if (pipe->variables == 2 || (pipe->variables && at(p, TOKEN_COMMA)))
		return unexpected(p, "where := should be");
	p->lex = before;
	pipe->variables = 0;
	return 0;
}

/* Up to end, behind which the caller's lexer goes on (TOKEN_CLOSE: it stays there). */
static int parse_pipe(struct parser *p, bool range, enum token_kind end, struct pipe **out)
{
	struct pipe *pipe = *out = yn_alloc(p->run->pool, sizeof(*pipe));
	struct command **command = &pipe->commands;

	if (parse_variables(p, range, pipe) < 0)
		return -1;
	for (;;) {
		if (parse_command(p, command) < 0)
			return -1;
		if (command != &pipe->commands && ((*command)->args->kind == ARG_CONSTANT || (*command)->args->kind == ARG_NIL ||
						   ((*command)->args->kind == ARG_DOT && !(*command)->args->fields))) {
			p->run->line = (*command)->args->line;
			return run_fail(p->run, "\"%.*s\" cannot take what | gives it", (int)(*command)->args->text.len,
					(*command)->args->text.s);
		}
		command = &(*command)->next;
		if (at(p, end))
			return 0;
		if (!at(p, TOKEN_PIPE))
			return unexpected(p, end == TOKEN_CLOSE_PAREN ? "before )" : "in an action");
		if (lex_next(&p->lex) < 0)
			return -1;
	}
}

static int expect_close(struct parser *p, const char *where)
{
	return at(p, TOKEN_CLOSE) ? 0 : unexpected(p, where);
}

static int parse_steps(struct parser *p, struct step **out, enum ending *ending);
static int parse_block(struct parser *p, struct step *s);

/* Behind a block's body, which ended with an else: what is done otherwise. */
static int parse_else(struct parser *p, struct step *s, enum ending ending)
{
	bool chained = ending == ENDS_ELSE_IF || ending == ENDS_ELSE_WITH;

	if (chained) {
		struct step *other = s->otherwise = yn_alloc(p->run->pool, sizeof(*other));

		other->line = p->lex.token.line;
		other->kind = ending == ENDS_ELSE_IF ? STEP_IF : STEP_WITH;
		if (s->kind != other->kind)
			return unexpected(p, "behind else of another kind of block");
		return parse_block(p, other);
	}
	if (parse_steps(p, &s->otherwise, &ending) < 0)
		return -1;
	if (ending != ENDS_END) {
		p->run->line = s->line;
		return run_fail(p->run, ending == ENDS_TEXT ? "a block has no {{end}}" : "a block has two {{else}}");
	}
	return 0;
}

/* The lexer stands at if, with or range. */
static int parse_block(struct parser *p, struct step *s)
{
	struct declared *declared = p->declared;
	bool range = s->kind == STEP_RANGE;
	enum ending ending;

	if (nest(p) < 0 || lex_next(&p->lex) < 0 || parse_pipe(p, range, TOKEN_CLOSE, &s->pipe) < 0)
		return -1;
	p->loops += range;
	if (parse_steps(p, &s->body, &ending) < 0)
		return -1;
	p->loops -= range;
	if (ending == ENDS_TEXT) {
		p->run->line = s->line;
		return run_fail(p->run, "a block has no {{end}}");
	}
	if (ending != ENDS_END && parse_else(p, s, ending) < 0)
		return -1;
	p->declared = declared;
	p->nesting--;
	return 0;
}

static int parse_loop_word(struct parser *p, struct step *s)
{
	s->kind = at_word(p, "break") ? STEP_BREAK : STEP_CONTINUE;
	if (!p->loops)
		return unexpected(p, "outside of a range");
	return lex_next(&p->lex) < 0 ? -1 : expect_close(p, "behind break or continue");
}

static int parse_action(struct parser *p, struct step *s)
{
	s->line = p->lex.token.line;
	if (at_word(p, "define") || at_word(p, "template") || at_word(p, "block"))
		return unexpected(p, "begins an action: templates inside templates are not supported");
	if (at_word(p, "break") || at_word(p, "continue"))
		return parse_loop_word(p, s);
	s->kind = at_word(p, "if") ? STEP_IF : at_word(p, "with") ? STEP_WITH : at_word(p, "range") ? STEP_RANGE : STEP_PRINT;
	return s->kind == STEP_PRINT ? parse_pipe(p, false, TOKEN_CLOSE, &s->pipe) : parse_block(p, s);
}

/* At "end" or "else": which of them. The lexer stays at the if or with behind an else. */
static int parse_ending(struct parser *p, enum ending *ending)
{
	bool is_else = at_word(p, "else");

	*ending = is_else ? ENDS_ELSE : ENDS_END;
	if (lex_next(&p->lex) < 0)
		return -1;
	if (is_else && (at_word(p, "if") || at_word(p, "with"))) {
		*ending = at_word(p, "if") ? ENDS_ELSE_IF : ENDS_ELSE_WITH;
		return 0;
	}
	return expect_close(p, is_else ? "behind else" : "behind end");
}

static int parse_steps(struct parser *p, struct step **out, enum ending *ending)
{
	for (;;) {
		struct word text;
		bool action;
		struct step *s = yn_alloc(p->run->pool, sizeof(*s));
		unsigned line = p->lex.line;

		if (run_step(p->run) < 0 || lex_text(&p->lex, &text, &action) < 0)
			return -1;
		if (text.len) {
			*s = (struct step){ .kind = STEP_TEXT, .line = line, .text = text };
			*out = s;
			out = &s->next;
			s = yn_alloc(p->run->pool, sizeof(*s));
		}
		*ending = ENDS_TEXT;
		if (!action && p->lex.at == p->lex.end)
			return 0;
		if (!action)
			continue;
		if (at_word(p, "end") || at_word(p, "else"))
			return parse_ending(p, ending);
		*out = s;
		out = &s->next;
		if (parse_action(p, s) < 0)
			return -1;
	}
}

int template_parse(struct run *r, const char *text, size_t len, struct step **out)
{
	struct parser p = { .run = r, .lex = { .run = r, .at = text, .end = text + len, .line = 1 } };
	enum ending ending;

	*out = NULL;
	if (parse_steps(&p, out, &ending) < 0)
		return -1;
	if (ending != ENDS_TEXT) {
		r->line = p.lex.token.line;
		return run_fail(r, ending == ENDS_END ? "{{end}} without a block" : "{{else}} without a block");
	}
	return 0;
}
