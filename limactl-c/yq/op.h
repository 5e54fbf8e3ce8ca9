/* op.h - what an expression consists of: operators (a table of them), and the tree parsing makes. */
#ifndef LIMA_YQ_OP_H
#define LIMA_YQ_OP_H

#include "limactl-c/yq/tree.h"

/* Nodes an operator works on or gives; two operators that give the same list object gave the same nodes. */
struct yq_list {
	struct yq_node **item;
	size_t count, room;
};
struct yq_var {
	struct yq_var *next;
	const char *name;
	struct yq_list *value;
};
struct yq_scope {
	struct yq_var *first;
};
struct yq_ctx {
	struct yq_list *list;
	struct yq_scope *scope; /* shared by copies of the struct; NULL: no variable yet */
	bool read_only;         /* missing keys are not created */
};

struct yq_exp;
typedef struct yq_ctx yq_handler(struct yq_run *r, struct yq_ctx c, const struct yq_exp *x);

struct yq_op {
	const char *name; /* for messages */
	unsigned char args, precedence;
	bool before_path; /* .a or [ may follow directly */
	unsigned char marks; /* of nodes it refuses (enum yq_mark) */
	yq_handler *run;
};

enum yq_flag {
	YQ_OPTIONAL = 1,       /* .a? */
	YQ_RELATIVE = 2,       /* |= */
	YQ_OR_EQUAL = 4,       /* <= >= */
	YQ_GREATER = 8,        /* > >= */
	YQ_APPEND = 16,        /* *+ */
	YQ_DEEP_LISTS = 32,    /* *d */
	YQ_ONLY_NULL = 64,     /* *n */
	YQ_ONLY_EXISTING = 128, /* *? */
	YQ_KEYS_TOO = 256,     /* ... */
	YQ_BY_REFERENCE = 512, /* ref $x */
	YQ_EXACT = 1024,       /* no * and ? in keys */
	YQ_KEY_ONLY = 2048,    /* the key of a pair, not its value */
	YQ_IS_INDEX = 4096,    /* a step that is a number */
	YQ_UPPER = 8192,       /* upcase */
};

struct yq_exp {
	const struct yq_op *op;
	struct yq_exp *left, *right;
	size_t at;         /* character in the expression, from 1 */
	const char *text;  /* key, variable, string */
	size_t len;
	unsigned flags;
	int number;           /* of flatten(n), parent(n) */
	struct yq_node *node; /* a literal; a node an operator hands on */
};

struct yq_exp *yq_new_exp(struct yq_run *r, const struct yq_op *op, size_t at);

/* Those that parsing and other operators name; all others are found by their words (lex.c). */
extern const struct yq_op yq_op_path, yq_op_self, yq_op_index, yq_op_pipe, yq_op_short_pipe, yq_op_union, yq_op_block,
	yq_op_value, yq_op_node, yq_op_string, yq_op_empty, yq_op_collect, yq_op_object, yq_op_pair, yq_op_length,
	yq_op_assign, yq_op_assign_kind, yq_op_add_assign, yq_op_subtract_assign, yq_op_multiply_assign, yq_op_add,
	yq_op_subtract, yq_op_multiply, yq_op_divide, yq_op_modulo, yq_op_alternative, yq_op_equals, yq_op_differs,
	yq_op_compare, yq_op_variable, yq_op_as, yq_op_descend, yq_op_first, yq_op_delete, yq_op_flatten, yq_op_parent;

struct yq_word {
	const char *spelling; /* a_?b: with or without _; a|b: either */
	const struct yq_op *op; /* NULL: known to yq, refused here */
	unsigned flags;
};
extern const struct yq_word yq_words[];
extern const size_t yq_word_count;

#endif
