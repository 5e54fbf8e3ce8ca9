/* trim.h - cache-trim: when boot has finished (dockerd answers), when a container has ended, and when the host has used the guest,
 * drop the clean page cache and fstrim the disks: once it has been quiet for 5 seconds and its disks are not busy, at most
 * every 2 minutes, if it is worth it (tuning.cacheTrimMinimum) and nobody needs it warm (tuning.cacheTrimUnless). Nothing ticks while
 * nothing happens: a container's end is told by inotify, and a wait is armed only when something happened.
 *
 * Wire it so (daemon's loop):
 *   t = trim_new(settings);
 *   watch trim_fd(t) for POLLIN (skip when -1); when readable: trim_ready(t)
 *   after boot provisioning has finished: trim_boot_done(t)
 *   the loop's timeout is at most trim_timeout(t, now) ms (-1 = none); when it has passed: trim_expired(t, now)
 * Every call is cheap; the work itself is done by a child process that the loop reaps like any other.
 */
#ifndef LIMA_GUESTAGENT_TRIM_H
#define LIMA_GUESTAGENT_TRIM_H

#include <stdint.h>

#include "lib/settings.h"

struct trim;

struct trim *trim_new(const struct settings *s); /* NULL when memory is short; all calls accept NULL */
void trim_free(struct trim *t);
int trim_fd(const struct trim *t);
void trim_ready(struct trim *t);
void trim_used(struct trim *t); /* the host opened a stream */
void trim_boot_done(struct trim *t);
int trim_timeout(const struct trim *t, int64_t now_ms); /* CLOCK_MONOTONIC milliseconds */
void trim_expired(struct trim *t, int64_t now_ms);

/* When a run wanted at now_ms is due; last: when the one before began, 0 = there was none. */
int64_t trim_next(int64_t last, int64_t now_ms);

void trim_page_cache(void); /* drops what is clean */

/* Tells the disk which blocks of the file system at path are free; *bytes how many bytes that were. -1 with errno. */
int trim_filesystem(const char *path, uint64_t *bytes);
/* The same for every disk that is mounted and may be written; those that cannot be told are left out. */
void trim_disks(uint64_t *bytes);

#endif
