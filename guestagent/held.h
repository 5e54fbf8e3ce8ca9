/* held.h - folders kept open, by mount and path, so that the kernel keeps its knowledge of them (docs/file-events.md). */
#ifndef LIMA_GUESTAGENT_HELD_H
#define LIMA_GUESTAGENT_HELD_H

#include <stddef.h>

struct held;

struct held *held_new(size_t max); /* NULL: memory is short */
void held_free(struct held *h);    /* closes them all; NULL is allowed */

/* fd is taken; one that was held under that path is closed after it. -1 with errno set: there is no room; fd is closed. */
int held_put(struct held *h, unsigned mount, const char *path, int fd);
void held_drop(struct held *h, unsigned mount, const char *path); /* nothing when it is not held */
size_t held_count(const struct held *h);

#endif
