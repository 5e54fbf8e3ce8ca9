/* lex.h - the text of an expression → tokens. */
#ifndef LIMA_YQ_LEX_H
#define LIMA_YQ_LEX_H

#include "limactl-c/yq/op.h"

enum yq_token_kind {
	YQ_OPERATION,
	YQ_OPEN,          /* ( */
	YQ_CLOSE,         /* ) */
	YQ_OPEN_LIST,     /* [ */
	YQ_CLOSE_LIST,    /* ] and ]? */
	YQ_OPEN_OBJECT,   /* { */
	YQ_CLOSE_OBJECT,  /* } */
	YQ_OPEN_INDEX,    /* .[ */
};

struct yq_token {
	enum yq_token_kind kind;
	struct yq_exp *exp;  /* of an operation: without arguments */
	bool before_path;    /* .a or [ may follow directly */
	bool optional;       /* ]? */
	size_t at;
};
struct yq_tokens {
	struct yq_token *item;
	size_t count, room;
};

void yq_push_token(struct yq_run *r, struct yq_tokens *t, struct yq_token token);

/* at: the character the text begins at, for messages. Fails with the place of the first thing that is no token. */
void yq_lex(struct yq_run *r, const char *text, size_t at, struct yq_tokens *out);

#endif
