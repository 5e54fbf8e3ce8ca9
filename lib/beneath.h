/* beneath.h - opens what lies below a folder, and never anything else: no "..", no symbolic link on the way, whoever may rename
 * and replace folders meanwhile. Linux 5.6 or later. */
#ifndef LIMA_BENEATH_H
#define LIMA_BENEATH_H

#include <stdbool.h>

/* path is below root, "" is root itself. flags: those of open(), O_CLOEXEC and O_NOFOLLOW are added. one_mount: what is mounted
 * on the way is not entered (EXDEV). The descriptor is the caller's; -1 with errno set, ELOOP at a link. */
int beneath_open(int root, const char *path, int flags, bool one_mount);

#endif
