/* yq.h - expressions of yq on trees: the part that Lima's flags and documentation use.
 *
 * What is not supported is refused in words that name it; it is never answered differently from yq.
 */
#ifndef LIMA_YQ_YQ_H
#define LIMA_YQ_YQ_H

#include "lib/err.h"
#include "limactl-c/yaml/ynode.h"

struct yq_result {
	struct ynode **node; /* in the pool */
	size_t count;
};

/* Runs the expression on root, which stays as it is. Steps, depth and memory are bounded. What the results share with
 * root has root's places and origins; a root that was parsed need not be copied. The error names the place in the expression
 * ("at character 12"); ERR_NOTFOUND: there is a word that yq does not know either. */
int yq_run(struct yn_pool *p, const char *expression, const struct ynode *root, struct yq_result *r, struct err *e);

/* For flags like --set: the one result of the expression, which must be a map. */
struct ynode *yq_edit(struct yn_pool *p, const char *expression, const struct ynode *root, struct err *e);

/* s as a string literal of an expression, quotes included. In p. */
const char *yq_quote(struct yn_pool *p, const char *s);

#endif
