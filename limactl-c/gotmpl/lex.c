#include "limactl-c/gotmpl/lex.h"

#include <string.h>

static bool is_space(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_name(char c)
{
	return c == '_' || is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool follows(const struct lexer *l, const char *p, const char *what)
{
	size_t n = strlen(what);

	return (size_t)(l->end - p) >= n && !memcmp(p, what, n);
}

static int fail(struct lexer *l, unsigned line, const char *what)
{
	l->run->line = line;
	return run_fail(l->run, "%s", what);
}

/* Goes on to p; lines are counted. */
static void go(struct lexer *l, const char *p)
{
	for (; l->at < p; l->at++)
		l->line += *l->at == '\n';
}

static void skip_space(struct lexer *l)
{
	const char *p = l->at;

	while (p < l->end && is_space(*p))
		p++;
	go(l, p);
}

/* Behind "{{": whether spaces before it are trimmed ("{{- "). */
static bool trims_left(const struct lexer *l, const char *p)
{
	return p + 1 < l->end && *p == '-' && is_space(p[1]);
}

/* The lexer stands at the "/" "*" of a comment. */
static int skip_comment(struct lexer *l)
{
	unsigned line = l->line;
	const char *p = memmem(l->at + 2, (size_t)(l->end - l->at) - 2, "*/", 2);
	bool trim;

	if (!p)
		return fail(l, line, "a comment has no end: */ is missing");
	p += 2;
	trim = p < l->end && is_space(*p) && follows(l, p + 1, "-}}");
	if (!trim && !follows(l, p, "}}"))
		return fail(l, line, "a comment has an action of its own: }} must follow */ at once");
	go(l, p + (trim ? 4 : 2));
	if (trim)
		skip_space(l);
	return 0;
}

int lex_text(struct lexer *l, struct word *text, bool *action)
{
	const char *open = memmem(l->at, (size_t)(l->end - l->at), "{{", 2), *p, *end;

	*text = (struct word){ l->at, (size_t)((open ? open : l->end) - l->at) };
	*action = false;
	if (!open) {
		go(l, l->end);
		return 0;
	}
	p = open + 2;
	if (trims_left(l, p)) {
		for (end = open; end > text->s && is_space(end[-1]);)
			end--;
		text->len = (size_t)(end - text->s);
		p += 2;
	}
	go(l, p);
	if (follows(l, p, "/*"))
		return skip_comment(l);
	*action = true;
	return lex_next(l);
}

/* The end of the literal whose opening quote is at p; NULL: it has none. */
static const char *quoted_end(const struct lexer *l, const char *p)
{
	char quote = *p++;

	for (; p < l->end && *p != quote; p++) {
		if (quote == '`')
			continue;
		if (*p == '\n' || (*p == '\\' && (++p == l->end || *p == '\n')))
			return NULL;
	}
	return p < l->end ? p + 1 : NULL;
}

/* A number's characters, and those that follow without space: what is none is found when it is read. */
static const char *number_end(const struct lexer *l, const char *p)
{
	bool hex = false;
	const char *start = p;

	for (p++; p < l->end; p++) {
		bool exponent = !is_digit(p[-1]) && strchr(hex ? "pP" : "eE", p[-1]) && p - 1 > start;

		hex = hex || *p == 'x' || *p == 'X';
		if (!is_name(*p) && *p != '.' && !((*p == '+' || *p == '-') && exponent))
			break;
	}
	return p;
}

/* Behind a name: what may not touch it. */
static bool ends_name(const struct lexer *l, const char *p)
{
	return p == l->end || is_space(*p) || strchr(".,|:()", *p) || follows(l, p, "}}");
}

static int lex_name(struct lexer *l, const char *p, enum token_kind kind)
{
	while (p < l->end && is_name(*p))
		p++;
	if (!ends_name(l, p) && (unsigned char)*p >= 0x80)
		return fail(l, l->line, "names hold letters a-z, A-Z, digits and _ here; index gets what has another name");
	if (!ends_name(l, p)) {
		l->run->line = l->line;
		return run_fail(l->run, "unexpected \"%c\" behind \"%.*s\"", *p, (int)(p - l->at), l->at);
	}
	l->token.kind = kind;
	l->token.text.len = (size_t)(p - l->at);
	return 0;
}

static int lex_sign(struct lexer *l)
{
	static const struct {
		const char *text;
		enum token_kind kind;
	} signs[] = {
		{ ":=", TOKEN_DECLARE },  { "=", TOKEN_ASSIGN },      { "|", TOKEN_PIPE },
		{ ",", TOKEN_COMMA },     { "(", TOKEN_OPEN_PAREN },  { ")", TOKEN_CLOSE_PAREN },
	};

	for (size_t i = 0; i < sizeof(signs) / sizeof(*signs); i++) {
		if (follows(l, l->at, signs[i].text)) {
			l->token.kind = signs[i].kind;
			l->token.text.len = strlen(signs[i].text);
			return 0;
		}
	}
	l->run->line = l->line;
	if (*l->at < ' ' || *l->at > '~')
		return run_fail(l->run, "unexpected character (byte 0x%02x)", (unsigned char)*l->at);
	return run_fail(l->run, "unexpected \"%c\"", *l->at);
}

static int lex_quoted(struct lexer *l)
{
	const char *end = quoted_end(l, l->at);

	if (!end)
		return fail(l, l->line, *l->at == '`' ? "a text in ` has no end" : "a text in quotes has no end in its line");
	l->token.kind = *l->at == '`' ? TOKEN_RAW : *l->at == '"' ? TOKEN_STRING : TOKEN_CHARACTER;
	l->token.text.len = (size_t)(end - l->at);
	return 0;
}

static int lex_token(struct lexer *l)
{
	const char *p = l->at;
	bool digit = p + 1 < l->end && is_digit(p[1]);

	if (*p == '"' || *p == '`' || *p == '\'')
		return lex_quoted(l);
	if (*p == '$')
		return lex_name(l, p + 1, TOKEN_VARIABLE);
	if (*p == '.' && !digit)
		return lex_name(l, p + 1, p + 1 < l->end && is_name(p[1]) ? TOKEN_FIELD : TOKEN_DOT);
	if (*p == '.' || *p == '+' || *p == '-' || is_digit(*p)) {
		l->token.kind = TOKEN_NUMBER;
		l->token.text.len = (size_t)(number_end(l, p) - p);
		return 0;
	}
	if (is_name(*p))
		return lex_name(l, p, TOKEN_WORD);
	return lex_sign(l);
}

int lex_next(struct lexer *l)
{
	const char *before = l->at;
	bool trim;

	skip_space(l);
	l->token = (struct token){ .text.s = l->at, .line = l->line, .spaced = l->at > before };
	trim = l->token.spaced && follows(l, l->at, "-}}");
	if (trim || follows(l, l->at, "}}")) {
		l->token.kind = TOKEN_CLOSE;
		l->token.text.len = trim ? 3 : 2;
	} else if (l->at == l->end) {
		return fail(l, l->line, "an action has no end: }} is missing");
	} else if (lex_token(l) < 0) {
		return -1;
	}
	go(l, l->at + l->token.text.len);
	if (trim)
		skip_space(l);
	return 0;
}
