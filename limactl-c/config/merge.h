/* merge.h - several YAML trees become one: layers of a load, bases of a template. Each list's own rule is a row of a
 * table in merge.c; the rules are Lima's. */
#ifndef LIMA_CONFIG_MERGE_H
#define LIMA_CONFIG_MERGE_H

#include "limactl-c/base/finding.h"
#include "limactl-c/yaml/ynode.h"

/* Short spellings written out, in place: base and additionalDisks as words, file as a word → mappings. */
void merge_normalise(struct yn_pool *p, struct ynode *root);

/* override over instance over defaults, normalised trees each of which may be NULL. Values keep the places they were
 * given at. */
struct ynode *merge_layers(struct yn_pool *p, const struct ynode *defaults, const struct ynode *instance,
			   const struct ynode *override);

/* What a template inherits from one base: root is changed, base is not. */
void merge_base(struct yn_pool *p, struct ynode *root, const struct ynode *base);

/* After the last base: disks of one name, mounts of one place, networks of one interface become one; "*" is applied
 * and dropped. That this makes too many values is a finding. */
void merge_combine(struct yn_pool *p, struct ynode *root, struct findings *f);

/* The value of key becomes a list with nothing else in it, at its place. */
struct ynode *merge_lone(struct yn_pool *p, struct ynode *map, const char *key);

#endif
