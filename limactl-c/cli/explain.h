/* explain.h - a filled configuration as YAML in which every value says where it was given. */
#ifndef LIMA_CLI_EXPLAIN_H
#define LIMA_CLI_EXPLAIN_H

#include "lib/buf.h"
#include "limactl-c/yaml/ynode.h"

/* Appends the tree in block style, each scalar with a comment: "# docker.yaml:12", or "# default" without a place. -1 when
 * out is full. */
int explain(const struct ynode *root, struct buf *out);

#endif
