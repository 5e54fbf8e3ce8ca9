/* where.h - the places values were given at: which keys a file sets, and what a message points to.
 */
#ifndef LIMA_WHERE_H
#define LIMA_WHERE_H

#include <stdbool.h>

#include "limactl-c/config/config.h"
#include "limactl-c/base/finding.h"

void where_add(struct cfg *c, const char *path, struct place at); /* copies both strings */
void where_sort(struct cfg *c); /* after the last add, before the first look-up */
bool where_given(const struct cfg *c,
		 const char *path); /* null counts as not given, a bad value as given */
/* The place of the path, of the closest thing around it, or of no line in the file called name. */
struct place where_place(const struct cfg *c, const char *name, const char *path);
void where_free(struct cfg *c);

#endif
