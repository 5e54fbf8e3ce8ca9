/* where.h - what was given: the merged tree of a configuration's texts, looked up by the path of a value. */
#ifndef LIMA_WHERE_H
#define LIMA_WHERE_H

#include <stdbool.h>

#include "limactl-c/base/finding.h"
#include "limactl-c/config/config.h"

/* A path under way: one step more than up (NULL: none). Made on the stack while walking, written out when needed. */
struct cfg_path {
	const struct cfg_path *up;
	const char *name; /* of a key; NULL: an element of a list */
	size_t index;
};
char *cfg_path_text(const struct cfg_path *p); /* "portForwards[0].guestPort"; malloc'd */

bool where_given(const struct cfg *c, const char *path); /* null counts as not given, a bad value as given */
const struct ynode *where_node(const struct cfg *c, const char *path); /* NULL: not given */
/* The place of the path, of the closest thing around it, or of no line in the file called name. */
struct place where_place(const struct cfg *c, const char *name, const char *path);
/* The same for the key of a mapping. */
struct place where_key_place(const struct cfg *c, const char *name, const char *path);

#endif
