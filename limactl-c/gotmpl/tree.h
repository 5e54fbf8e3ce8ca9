/* tree.h - a template, read. Private to gotmpl/. Everything is in the pool of the run. */
#ifndef LIMA_GOTMPL_TREE_H
#define LIMA_GOTMPL_TREE_H

#include "limactl-c/gotmpl/value.h"

enum {
	NESTING_MAX = 100,    /* of parentheses, of blocks; "else if" nests too */
	ARGUMENTS_MAX = 100, /* of a function */
	VARIABLES_MAX = 1000,
	STEPS_MAX = 200000,
	POOL_MAX = 64 << 20, /* bytes */
};

/* One run over one template. */
struct run {
	struct yn_pool *pool;
	bool fold, any_missing, go_only; /* struct gotmpl_options */
	const struct ynode *open;        /* where struct gotmpl_options' open begins */
	const struct ynode *data, *also; /* fields of the former are in the latter too */
	unsigned line;                   /* of what is being read or carried out, from 1 */
	size_t steps;
	struct err *e;
};

struct arg;
struct function {
	const char *name;
	bool lima;           /* not one of Go's own */
	bool takes_none;     /* an argument may be a field that is not there */
	unsigned least, most; /* arguments */
	/* NULL: "and", "or", which do not look at every argument. */
	int (*call)(struct run *r, const struct function *f, const struct value *v, size_t n, struct value *out);
};
const struct function *function_find(const struct run *r, const char *name, size_t len);

struct word {
	const char *s;
	size_t len;
};
struct field {
	struct word name;
	struct field *next;
};

enum arg_kind { ARG_DOT, ARG_NIL, ARG_VARIABLE, ARG_CONSTANT, ARG_FUNCTION, ARG_PIPE };
/* ".A.B", "$x.A", "(…).A", "1", "len": something and the fields taken of it. */
struct arg {
	enum arg_kind kind;
	unsigned line;
	struct word text; /* as written; the name of a variable with its "$" */
	struct value value;
	const struct function *function;
	struct pipe *pipe;
	struct field *fields;
	struct arg *next;
};
struct command {
	struct arg *args; /* the first one is what is carried out */
	struct command *next;
};
struct pipe {
	struct word variable[2]; /* "$i, $v :=" */
	unsigned variables;
	bool assigns; /* "=", not ":=" */
	struct command *commands;
};

enum step_kind { STEP_TEXT, STEP_PRINT, STEP_IF, STEP_WITH, STEP_RANGE, STEP_BREAK, STEP_CONTINUE };
struct step {
	enum step_kind kind;
	unsigned line;
	struct word text;
	struct pipe *pipe;
	struct step *body, *otherwise, *next;
};

/* -1 with r->line and r->e. */
int template_parse(struct run *r, const char *text, size_t len, struct step **out);
int template_execute(struct run *r, const struct step *steps, const struct value *data, struct buf *out);

/* Always -1. */
int run_fail(struct run *r, const char *fmt, ...) ERR_FMT(2, 3);
int run_no_room(struct run *r); /* the pool's or a text's limit */
/* A value of the data, within another (open: it is in the open part). */
int run_value(struct run *r, const struct ynode *n, bool open, struct value *out);
int run_step(struct run *r);    /* of everything read and done: the bounds of time and memory */

#endif
