/* eval.h - what operators are made of. */
#ifndef LIMA_YQ_EVAL_H
#define LIMA_YQ_EVAL_H

#include "limactl-c/yq/op.h"

/* x NULL: gives its input. After a failure: nothing. */
struct yq_ctx yq_eval(struct yq_run *r, struct yq_ctx c, const struct yq_exp *x);

struct yq_list *yq_new_list(struct yq_run *r);
void yq_push(struct yq_run *r, struct yq_list *l, struct yq_node *n);
void yq_push_all(struct yq_run *r, struct yq_list *l, const struct yq_list *more);

/* Another context over these nodes, with variables of its own that begin as c's. */
struct yq_ctx yq_over(struct yq_run *r, struct yq_ctx c, struct yq_list *l);
struct yq_ctx yq_over_one(struct yq_run *r, struct yq_ctx c, struct yq_node *n);
struct yq_ctx yq_read_one(struct yq_run *r, struct yq_ctx c, struct yq_node *n); /* read only */
struct yq_ctx yq_read_only(struct yq_run *r, struct yq_ctx c);
struct yq_ctx yq_writable(struct yq_run *r, struct yq_ctx c);
void yq_set_var(struct yq_run *r, struct yq_ctx *c, const char *name, struct yq_list *value);

bool yq_together(const struct yq_ctx *c); /* all nodes of c are to be seen at once */
struct yq_node *yq_first_of(const struct yq_ctx *c); /* NULL: there is none */
bool yq_any_truthy(struct yq_run *r, const struct yq_ctx *c);

/* Each value of the left side with each of the right one. */
typedef struct yq_node *yq_pair_fn(struct yq_run *r, struct yq_ctx c, struct yq_node *a, struct yq_node *b,
				   unsigned flags);
struct yq_cross {
	yq_pair_fn *pair;  /* NULL from it: no result */
	unsigned flags;    /* for pair */
	bool when_empty;   /* call pair with NULL for a side that has no value */
	yq_pair_fn *alone; /* a result from a alone spares the right side; b is NULL. May be NULL */
	unsigned marks;    /* of nodes that are refused */
};
struct yq_ctx yq_cross(struct yq_run *r, struct yq_ctx c, const struct yq_exp *x, const struct yq_cross *how);

/* For operators that make one node of each. NULL from it: no result. */
typedef struct yq_node *yq_each_fn(struct yq_run *r, struct yq_ctx c, struct yq_node *n, const struct yq_exp *x);
struct yq_ctx yq_each(struct yq_run *r, struct yq_ctx c, const struct yq_exp *x, yq_each_fn *fn);

struct yq_ctx yq_splat(struct yq_run *r, struct yq_ctx c, struct yq_node *n); /* what .[] gives */
struct yq_node *yq_gather(struct yq_run *r, const struct yq_list *l);        /* a new list of copies */
struct yq_exp *yq_path_tree(struct yq_run *r, const struct yq_step *steps, size_t count, unsigned flags, bool key);
struct yq_exp *yq_node_exp(struct yq_run *r, struct yq_node *n);
void yq_descend(struct yq_run *r, struct yq_list *out, struct yq_ctx c, bool keys, bool lists);

yq_pair_fn yq_multiply_pair;

/* The parts of n between separators, each character when it is empty. */
struct yq_node *yq_split(struct yq_run *r, const struct yq_node *n, const char *separator, size_t len);

const char *yq_tag_word(enum yq_tag tag);
bool yq_must_be_list(struct yq_run *r, const struct yq_node *n, const struct yq_exp *x); /* else fails in the name of x */

#endif
