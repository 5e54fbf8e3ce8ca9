/* arith.h - what the operators on numbers share. */
#ifndef LIMA_YQ_ARITH_H
#define LIMA_YQ_ARITH_H

#include "limactl-c/yq/number.h"

struct yq_ints {
	int64_t a, b;
	enum yq_base base; /* the result is written as a is */
};

/* True when both are whole numbers, numbers. Fails when such a number is out of range. */
bool yq_ints(struct yq_run *r, const struct yq_node *a, const struct yq_node *b, struct yq_ints *out);
bool yq_floats(struct yq_run *r, const struct yq_node *a, const struct yq_node *b, double *x, double *y);

/* scalar at the place, and in the style, of n. */
struct yq_node *yq_in_place_of(struct yq_run *r, const struct yq_node *n, const struct yq_node *scalar);

#endif
