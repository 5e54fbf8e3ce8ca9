/* explain.h - a filled configuration as YAML in which every value says where it was given. */
#ifndef LIMA_CLI_EXPLAIN_H
#define LIMA_CLI_EXPLAIN_H

#include "lib/buf.h"
#include "limactl-c/yaml/ynode.h"

/* Of a text that was put together from others: where each of its values was given first. */
struct explain_moved {
	struct place here, there; /* files are borrowed from the trees */
};
struct explain_places {
	struct explain_moved *moved; /* in order of here */
	size_t count;
};

/* text: the tree read from that text; tree: the one it was made from, whose values know their own places. Both say the same. */
void explain_places_find(struct explain_places *p, const struct ynode *text, const struct ynode *tree);
struct place explain_place(const struct explain_places *p, struct place at); /* p may be NULL */
void explain_places_free(struct explain_places *p);

/* Appends the tree in block style, each scalar with a comment: "# docker.yaml:12", or "# default" without a place. places may be
 * NULL. -1 when out is full. */
int explain(const struct ynode *root, const struct explain_places *places, struct buf *out);

#endif
