#include "limactl-c/yq/lex.h"

#include <ctype.h>
#include <string.h>

#include "limactl-c/base/text.h"
#include "limactl-c/yq/number.h"

enum { WORD_SHOWN = 60, SIGNS_SHOWN = 20 }; /* in messages, bytes */

struct lexer {
	struct yq_run *r;
	struct yq_tokens *out;
	const char *p;
	const char *counted; /* up to here */
	size_t at;           /* the character that begins there */
};

void yq_push_token(struct yq_run *r, struct yq_tokens *t, struct yq_token token)
{
	if (t->count == t->room) {
		size_t room = t->room ? 2 * t->room : 16;
		struct yq_token *grown = yn_alloc(r->pool, room * sizeof(*grown));

		if (t->count)
			memcpy(grown, t->item, t->count * sizeof(*grown));
		t->item = grown;
		t->room = room;
	}
	t->item[t->count++] = token;
}

struct yq_exp *yq_new_exp(struct yq_run *r, const struct yq_op *op, size_t at)
{
	struct yq_exp *x = yn_alloc(r->pool, sizeof(*x));

	x->op = op;
	x->at = at;
	return x;
}

static size_t place(struct lexer *l)
{
	l->at += text_utf8_count(l->counted, (size_t)(l->p - l->counted));
	l->counted = l->p;
	return l->at;
}

/* Pushes a token of len bytes. */
static struct yq_exp *take(struct lexer *l, const struct yq_op *op, size_t len)
{
	struct yq_exp *x = yq_new_exp(l->r, op, place(l));

	yq_push_token(l->r, l->out, (struct yq_token){ YQ_OPERATION, x, op->before_path, false, x->at });
	l->p += len;
	return x;
}

static void take_literal(struct lexer *l, enum yq_tag tag, size_t len)
{
	const char *text = l->p;

	take(l, &yq_op_value, len)->node = yq_scalar(l->r, tag, text, len);
}

static void take_bracket(struct lexer *l, enum yq_token_kind kind, size_t len)
{
	bool closes = kind == YQ_CLOSE || kind == YQ_CLOSE_LIST || kind == YQ_CLOSE_OBJECT;

	yq_push_token(l->r, l->out, (struct yq_token){ kind, NULL, closes, l->p[len - 1] == '?', place(l) });
	l->p += len;
}

/* Length of the word at p that one of the spellings allows, 0: none. */
static size_t spelled(const char *spelling, const char *p)
{
	while (*spelling) {
		const char *s = spelling, *q = p;

		while (*s && *s != '|') {
			if (s[0] == '_' && s[1] == '?') {
				q += *q == '_';
				s += 2;
			} else if (*s++ != *q++) {
				break;
			}
		}
		if ((!*s || *s == '|') && s != spelling && (s[-1] == '?' || q[-1] == s[-1]))
			return (size_t)(q - p);
		spelling += strcspn(spelling, "|");
		spelling += *spelling == '|';
	}
	return 0;
}

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

static void refuse_word(struct lexer *l, const char *p)
{
	size_t n = strcspn(p, " \t\r\n|,()[]{}=\"");
	bool first = !l->r->failed;

	if (n > WORD_SHOWN)
		n = WORD_SHOWN;
	yq_fail(l->r, "%.*s is no operator; text needs quotes: \"%.*s\"", (int)n, p, (int)n, p);
	if (first)
		l->r->e->kind = ERR_NOTFOUND;
}

/* (n) behind a word: its length, 0: none. */
static size_t parenthesised(const char *p, bool negative_too, int *n)
{
	const char *q = p + (*p == '(');
	size_t digits;

	if (*p != '(')
		return 0;
	q += negative_too && *q == '-';
	digits = strspn(q, "0123456789");
	if (!digits || digits > 6 || q[digits] != ')')
		return 0;
	*n = atoi(p + 1);
	return (size_t)(q + digits + 1 - p);
}

static bool take_constant(struct lexer *l)
{
	static const struct {
		const char *spelling;
		enum yq_tag tag;
	} constants[] = {
		{ "true|True|TRUE|false|False|FALSE", YQ_BOOL },
		{ "null|Null|NULL", YQ_NULL },
	};

	for (size_t i = 0; i < sizeof(constants) / sizeof(*constants); i++) {
		size_t n = spelled(constants[i].spelling, l->p);

		if (!n || is_word(l->p[n]))
			continue;
		take_literal(l, constants[i].tag, n);
		return true;
	}
	return false;
}

static void lex_word(struct lexer *l)
{
	for (size_t i = 0; i < yq_word_count; i++) {
		const struct yq_word *w = &yq_words[i];
		size_t n = spelled(w->spelling, l->p), more;
		struct yq_exp *x;
		int number = w->op == &yq_op_flatten ? -1 : 1;

		if (!n || is_word(l->p[n]))
			continue;
		if (!w->op) {
			yq_fail(l->r, "`%.*s` is not supported", (int)n, l->p);
			return;
		}
		more = w->op == &yq_op_flatten || w->op == &yq_op_parent ?
			parenthesised(l->p + n, w->op == &yq_op_parent, &number) : 0;
		x = take(l, w->op, n + more);
		x->flags = w->flags;
		x->number = number;
		return;
	}
	if (!take_constant(l))
		refuse_word(l, l->p);
}

/* -?digits, with a fraction, an exponent behind one digit, or 0x; 0: none. */
static size_t number_length(const char *p, enum yq_tag *tag)
{
	size_t sign = *p == '-', whole, part, exponent;
	const char *q;

	if (p[0] == '0' && (p[1] == 'x' || p[1] == 'X') && isxdigit((unsigned char)p[2])) {
		*tag = YQ_INT;
		return 2 + strspn(p + 2, "0123456789abcdefABCDEF");
	}
	whole = strspn(p + sign, "0123456789");
	if (!whole)
		return 0;
	q = p + sign + whole;
	part = *q == '.' ? strspn(q + 1, "0123456789") : 0;
	if (p[sign] != '0') {
		/* yq takes an exponent behind 1 or 1.5, not behind 10. */
		const char *e = p + sign + 1 + (part && whole == 1 ? part + 1 : 0);

		if (*e == 'e' || *e == 'E') {
			size_t s = e[1] == '+' || e[1] == '-';

			exponent = strspn(e + 1 + s, "0123456789");
			if (exponent) {
				*tag = YQ_FLOAT;
				return (size_t)(e - p) + 1 + s + exponent;
			}
		}
	}
	*tag = part ? YQ_FLOAT : YQ_INT;
	return (size_t)(q - p) + (part ? part + 1 : 0);
}

static void take_number(struct lexer *l, enum yq_tag tag, size_t len)
{
	const char *text = yn_strndup(l->r->pool, l->p, len);
	int64_t whole;
	double d;

	if (is_word(l->p[len]))
		refuse_word(l, l->p);
	if (tag == YQ_FLOAT ? !yq_parse_float(text, &d) : !yq_parse_int(text, &whole, NULL))
		yq_fail(l->r, "the number %.60s is %s", text, text[1] == 'X' ? "written 0x" : "out of range");
	take_literal(l, tag, len);
}

/* Escapes of a literal; \( stays for interpolation, and so do both signs of \\(. */
static void take_string(struct lexer *l)
{
	static const char from[] = "\"ntrfvba", to[] = "\"\n\t\r\f\v\b\a";
	const char *p = l->p + 1;
	char *out;
	size_t n = 0;
	struct yq_exp *x;

	/* A line end cannot be escaped. */
	while (*p && *p != '"' && !(*p == '\\' && (!p[1] || p[1] == '\n')))
		p += *p == '\\' ? 2 : 1;
	if (*p != '"') {
		yq_fail(l->r, "the text has no closing quote");
		return;
	}
	out = yn_alloc(l->r->pool, (size_t)(p - l->p) + 1);
	for (const char *q = l->p + 1; q < p; q++) {
		const char *known = *q == '\\' ? strchr(from, q[1]) : NULL;

		if (q[0] == '\\' && q[1] == '\\' && q[2] == '(') {
			out[n++] = '\\';
			out[n++] = *q++;
		} else if (q[0] == '\\' && q[1] == '\\') {
			out[n++] = *q++;
		} else if (known && *known) {
			out[n++] = to[known - from];
			q++;
		} else {
			out[n++] = *q;
		}
	}
	x = take(l, &yq_op_string, (size_t)(p - l->p) + 1);
	x->text = out;
	x->len = n;
}

static size_t path_length(const char *p)
{
	return 1 + strcspn(p + 1, " ;}{:[],|.()=\n!");
}

/* .a, ."a" and with ? behind. */
static void take_path(struct lexer *l)
{
	const char *name = l->p + 1, *end;
	size_t len;
	bool quoted = false;
	struct yq_exp *x;

	if (*name == '"') {
		/* The longest run without spaces and quotes: "a"? */
		size_t n = strcspn(name + 1, "\" ");

		quoted = n && name[1 + n] == '"';
		if (!quoted)
			yq_fail(l->r, "write a key with spaces as [\"a b\"]");
		len = n + 3 + (quoted && name[n + 2] == '?');
	} else {
		len = path_length(l->p);
	}
	if (l->r->failed)
		return;
	end = l->p + len;
	x = take(l, &yq_op_path, len);
	if (end[-1] == '?') {
		x->flags |= YQ_OPTIONAL;
		end--;
	}
	if (quoted) {
		name++;
		end--;
	}
	x->text = yn_strndup(l->r->pool, name, (size_t)(end - name));
	x->len = (size_t)(end - name);
}

static void lex_dot(struct lexer *l)
{
	const char *p = l->p;

	if (p[1] == '[')
		take_bracket(l, YQ_OPEN_INDEX, 2);
	else if (p[1] == '.' && p[2] == '.')
		take(l, &yq_op_descend, 3)->flags = YQ_KEYS_TOO;
	else if (p[1] == '.')
		take(l, &yq_op_descend, 2);
	else if (path_length(p) > 1)
		take_path(l);
	else
		take(l, &yq_op_self, 1);
}

/* Of each spelling that begins another one, the longer comes first. */
static const struct symbol {
	const char *text;
	const struct yq_op *op;
	unsigned flags;
} symbols[] = {
	{ "==", &yq_op_equals, 0 },
	{ "!=", &yq_op_differs, 0 },
	{ ">=", &yq_op_compare, YQ_GREATER | YQ_OR_EQUAL },
	{ "<=", &yq_op_compare, YQ_OR_EQUAL },
	{ ">", &yq_op_compare, YQ_GREATER },
	{ "<", &yq_op_compare, 0 },
	{ ":", &yq_op_pair, 0 },
	{ ";", &yq_op_block, 0 },
	{ "//", &yq_op_alternative, 0 },
	{ "|=", &yq_op_assign, YQ_RELATIVE },
	{ "=", &yq_op_assign, 0 },
	{ "|", &yq_op_pipe, 0 },
	{ ",", &yq_op_union, 0 },
	{ "*=", &yq_op_multiply_assign, 0 },
	{ "*", &yq_op_multiply, 0 },
	{ "/", &yq_op_divide, 0 },
	{ "%", &yq_op_modulo, 0 },
	{ "+=", &yq_op_add_assign, 0 },
	{ "+", &yq_op_add, 0 },
	{ "-=", &yq_op_subtract_assign, 0 },
	{ "-", &yq_op_subtract, 0 },
};

/* Letters directly behind * and *= change what a merge does. */
static unsigned merge_flags(struct lexer *l)
{
	unsigned flags = 0;

	for (; *l->p && strchr("+|?cdn", *l->p); l->p++) {
		flags |= *l->p == '+' ? YQ_APPEND : *l->p == 'd' ? YQ_DEEP_LISTS : *l->p == 'n' ? YQ_ONLY_NULL :
			*l->p == '?' ? YQ_ONLY_EXISTING : 0;
	}
	return flags;
}

static void refuse_sign(struct lexer *l)
{
	size_t name = 1 + strspn(l->p + 1, "abcdefghijklmnopqrstuvwxyz0123456789"), n = strcspn(l->p, " \n");

	if (*l->p == '@')
		yq_fail(l->r, "`%.*s` is not supported", (int)name, l->p);
	else if ((unsigned char)*l->p >= 0x80)
		refuse_word(l, l->p);
	else
		yq_fail(l->r, "nothing can begin with %.*s here", (int)(n > SIGNS_SHOWN ? SIGNS_SHOWN : n), l->p);
}

static void lex_symbol(struct lexer *l)
{
	for (size_t i = 0; i < sizeof(symbols) / sizeof(*symbols); i++) {
		size_t n = strlen(symbols[i].text);
		struct yq_exp *x;

		if (strncmp(l->p, symbols[i].text, n))
			continue;
		x = take(l, symbols[i].op, n);
		x->flags = symbols[i].flags;
		if (x->op == &yq_op_multiply || x->op == &yq_op_multiply_assign)
			x->flags = merge_flags(l) | YQ_EXACT;
		while (x->op == &yq_op_assign && *l->p == 'c')
			l->p++;
		return;
	}
	refuse_sign(l);
}

static void lex_bracket(struct lexer *l)
{
	static const char signs[] = "()[]{}";
	static const enum yq_token_kind kinds[] = {
		YQ_OPEN, YQ_CLOSE, YQ_OPEN_LIST, YQ_CLOSE_LIST, YQ_OPEN_OBJECT, YQ_CLOSE_OBJECT,
	};

	take_bracket(l, kinds[strchr(signs, *l->p) - signs], *l->p == ']' && l->p[1] == '?' ? 2 : 1);
}

static void take_variable(struct lexer *l)
{
	size_t n = 1;
	struct yq_exp *x;

	while (is_word(l->p[n]) || l->p[n] == '-')
		n++;
	if (n == 1) {
		yq_fail(l->r, "a variable has no name");
		return;
	}
	x = take(l, &yq_op_variable, n);
	x->text = yn_strndup(l->r->pool, l->p - n + 1, n - 1);
	x->len = n - 1;
}

static void lex_one(struct lexer *l)
{
	enum yq_tag tag;
	size_t n = number_length(l->p, &tag);

	if (n)
		take_number(l, tag, n);
	else if (strchr("()[]{}", *l->p))
		lex_bracket(l);
	else if (*l->p == '.')
		lex_dot(l);
	else if (*l->p == '"')
		take_string(l);
	else if (*l->p == '$')
		take_variable(l);
	else if (*l->p == '~')
		take_literal(l, YQ_NULL, 1);
	else if (isalpha((unsigned char)*l->p))
		lex_word(l);
	else
		lex_symbol(l);
}

void yq_lex(struct yq_run *r, const char *text, size_t at, struct yq_tokens *out)
{
	struct lexer l = { r, out, text, text, at };

	while (!r->failed) {
		/* A comment goes to the end of its line. */
		l.p += strspn(l.p, " \t\n");
		if (!*l.p)
			return;
		r->at = place(&l);
		yq_step(r);
		if (*l.p == '#')
			l.p += strcspn(l.p, "\n");
		else
			lex_one(&l);
	}
}
