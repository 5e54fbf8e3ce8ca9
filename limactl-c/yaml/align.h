/* align.h - which values of a changed collection are those of the old one. For this folder only. */
#ifndef LIMA_YAML_ALIGN_H
#define LIMA_YAML_ALIGN_H

#include "limactl-c/yaml/ynode.h"

#define ALIGN_NONE SIZE_MAX

/* For each of now's values the index of was's value that becomes it, or ALIGN_NONE. Indexes only grow: what changed
 * its place is new where it goes. Both are maps, or both are lists; in p. */
size_t *align(struct yn_pool *p, const struct ynode *was, const struct ynode *now);

#endif
