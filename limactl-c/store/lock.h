/* lock.h - lock files: a lock is an flock held by a living process, whatever the file says or however old it is. */
#ifndef LIMA_LOCK_H
#define LIMA_LOCK_H

#include <stdbool.h>

#include "lib/err.h"

/* The descriptor that holds it, made when it is not there; close-on-exec, but an inherited copy holds it as well.
 * ERR_EXISTS: another process holds it. */
int lock_take(const char *path, struct err *e);

/* The same, together with others who share it: nobody can take it meanwhile. To who looks it is free. */
int lock_share(const char *path, struct err *e);

/* flock(), as long as it takes, whatever signals come; 0, or -1 with errno. operation: LOCK_EX or LOCK_SH. */
int lock_wait(int fd, int operation);

/* Whether somebody has taken it. */
bool lock_is_held(const char *path);

#endif
