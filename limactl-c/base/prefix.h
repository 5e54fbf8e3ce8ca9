/* prefix.h - the installation this program belongs to, found from the running program. */
#ifndef LIMA_PREFIX_H
#define LIMA_PREFIX_H

#include "lib/err.h"

/* Programs lie in PREFIX/bin or PREFIX/libexec/limactl-c. Returns PREFIX, malloc'd, symbolic links
 * resolved; NULL when the program lies elsewhere (a unit test): $LIMACTL_C_PREFIX is used then,
 * when set. */
char *prefix_dir(struct err *e);

/* PREFIX/share/limactl-c[/BELOW] and PREFIX/libexec/limactl-c/PROGRAM, malloc'd; existence is not
 * checked. */
char *prefix_share(const char *below, struct err *e);
char *prefix_libexec(const char *program, struct err *e);

/* The same for a program at this absolute path; NULL when it is not laid out as above. */
char *prefix_of(const char *program);

#endif
