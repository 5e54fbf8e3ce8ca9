/* pending.h - changes that are to be told: each path once, however often it changed, the latest last.
 *
 * A change is held back until all is quiet for a moment, so that a file written in pieces is told once and when it is whole; a
 * folder where something always happens is told all the same. Times are clock_ms().
 */
#ifndef LIMA_WATCHER_PENDING_H
#define LIMA_WATCHER_PENDING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/fevent.h"

enum {
	PENDING_QUIET_MS = 10,
	PENDING_MOST_MS = 30,
	PENDING_MAX = 65536, /* besides folders that are there */
};

struct pending;

struct pending *pending_new(void);
void pending_free(struct pending *p);

/* What was told of path before is replaced: FE_HERE and FE_LEFT replace each other, and so do the others. When there are too
 * many, all are dropped. */
void pending_put(struct pending *p, enum fe_kind kind, unsigned mount, const char *path, int64_t now);
bool pending_dropped(struct pending *p); /* whether they were, since this was asked last */
bool pending_empty(const struct pending *p);
bool pending_room(const struct pending *p); /* for half of PENDING_MAX */
/* Milliseconds until they are to be told, 0: now, -1: there are none. */
int pending_wait(const struct pending *p, int64_t now);
/* Takes the first ones out, as records: what fits into n bytes. Returns the bytes. */
size_t pending_take(struct pending *p, uint8_t *out, size_t n);

#endif
