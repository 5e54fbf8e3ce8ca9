/* lex.h - the words of a template: text, then what stands between "{{" and "}}". Private to gotmpl/. */
#ifndef LIMA_GOTMPL_LEX_H
#define LIMA_GOTMPL_LEX_H

#include "limactl-c/gotmpl/tree.h"

enum token_kind {
	TOKEN_CLOSE, /* "}}" */
	TOKEN_WORD,  /* letters: a keyword, true, false, a function */
	TOKEN_FIELD, /* ".name" */
	TOKEN_DOT,
	TOKEN_VARIABLE, /* "$", "$name" */
	TOKEN_NUMBER,
	TOKEN_CHARACTER,
	TOKEN_STRING,
	TOKEN_RAW,
	TOKEN_DECLARE, /* ":=" */
	TOKEN_ASSIGN,
	TOKEN_PIPE,
	TOKEN_COMMA,
	TOKEN_OPEN_PAREN,
	TOKEN_CLOSE_PAREN,
};
struct token {
	enum token_kind kind;
	struct word text; /* with quotes, dot, "$" */
	bool spaced;      /* there is space before it */
	unsigned line;
};
struct lexer {
	struct run *run;
	const char *at, *end;
	unsigned line;
	struct token token; /* the one to look at; lex_next() goes on */
};

/* The text up to the next action or the end, trimmed as the actions say, comments skipped; *action: the lexer stands behind
 * a "{{" and holds its first token. */
int lex_text(struct lexer *l, struct word *text, bool *action);
int lex_next(struct lexer *l); /* the next token of the action; not behind TOKEN_CLOSE */

/* What literals mean. */
int literal_number(struct run *r, struct word text, struct value *out);
int literal_character(struct run *r, struct word text, struct value *out);
int literal_string(struct run *r, struct word text, struct value *out); /* quoted either way */

#endif
