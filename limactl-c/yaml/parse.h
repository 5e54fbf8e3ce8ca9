/* parse.h - YAML text → tree in which every value knows its place.
 *
 * Bounded: size of the text, depth, number of nodes with aliases counted as often as they are used. Scalars
 * follow the core schema of YAML 1.2. JSON is YAML.
 */
#ifndef LIMA_YAML_PARSE_H
#define LIMA_YAML_PARSE_H

#include "limactl-c/base/finding.h"
#include "limactl-c/yaml/ynode.h"

/* The root, in p, which also keeps a copy of name and text. A document without any node gives an empty map.
 * Duplicate keys (the first one stays), a second document and everything that is not YAML become errors in f; NULL when
 * no tree could be made. */
const struct ynode *yn_parse(struct yn_pool *p, const char *name, const char *text, size_t len, struct findings *f);

/* The same for texts that should be right: the first finding is the error. */
const struct ynode *yn_parse_one(struct yn_pool *p, const char *name, const char *text, size_t len, struct err *e);

/* A copy of the tree in which merge keys (<<) are carried out: a map's own keys win, then those of the first map
 * named. What cannot be merged becomes an error in f and is left out. */
struct ynode *yn_merge_keys(struct yn_pool *p, const struct ynode *root, struct findings *f);

#endif
