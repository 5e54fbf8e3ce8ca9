/* own_changes.h - what the guest itself changed in shared folders: its watchers were told by its kernel, and need not be again
 * when the host, which cannot tell who did it, hears of it.
 *
 * An inotify watch on each folder. The kernel does not say when a change was, so they are read as they come; the host's is
 * later than ours when the file's ctime is. What is kept is a table of fixed size: a change that found no place is told twice.
 */
#ifndef LIMA_GUESTAGENT_OWN_CHANGES_H
#define LIMA_GUESTAGENT_OWN_CHANGES_H

#include <stdbool.h>
#include <time.h>

struct own_changes;

struct own_changes *own_changes_new(void); /* NULL: none are known */
void own_changes_free(struct own_changes *o); /* NULL is allowed, as for all */
int own_changes_fd(const struct own_changes *o); /* readable: call own_changes_read(); -1 for NULL */
void own_changes_read(struct own_changes *o);

/* From now on what is changed in that folder is known; dir is a descriptor of it, borrowed. */
void own_changes_watch(struct own_changes *o, unsigned mount, const char *path, int dir);
void own_changes_unwatch(struct own_changes *o, unsigned mount, const char *path);

/* Whether the last change of what is at path was ours: when is its ctime; NULL: it is gone. */
bool own_changes_has(struct own_changes *o, unsigned mount, const char *path, const struct timespec *when);
/* We have just modified it to wake others: that was no change. */
void own_changes_not(struct own_changes *o, unsigned mount, const char *path);

#endif
