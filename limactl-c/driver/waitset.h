/* waitset.h - several descriptors behind one that can be waited on. */
#ifndef LIMA_WAITSET_H
#define LIMA_WAITSET_H

#include <stdbool.h>

#include "lib/err.h"

struct waitset;

struct waitset *waitset_new(struct err *e);
void waitset_free(struct waitset *w); /* NULL is allowed */
int waitset_fd(const struct waitset *w); /* readable when one of them is ready */

/* Waits for bytes to read, and for room to write when output. Called again it changes what is waited for. A
 * descriptor leaves the set by being closed, or by waitset_del() while another process holds it too. */
int waitset_put(struct waitset *w, int fd, bool output, struct err *e);
void waitset_del(struct waitset *w, int fd);

#endif
