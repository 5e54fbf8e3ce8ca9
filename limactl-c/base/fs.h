/* fs.h - folders and files: made complete or not at all. */
#ifndef LIMA_FS_H
#define LIMA_FS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "lib/err.h"

/* Makes a folder in one that is there; no error when there is one already. */
int fs_mkdir(const char *path, mode_t mode, struct err *e);
/* Makes a folder and those above it that are missing; one that is there already keeps its mode. */
int fs_mkdirs(const char *path, mode_t mode, struct err *e);

/* Writes a file by a temporary one beside it, fsync and rename: readers see the old bytes or all of the new. A killed writer
 * leaves NAME.XXXXXX.PID.tmp. */
#define FS_WRITTEN ".tmp"
int fs_write_atomic(const char *path, const void *p, size_t n, mode_t mode, struct err *e);

/* fsync of the folder, so that a rename in it lasts. */
int fs_sync_dir(const char *dir, struct err *e);
int fs_sync_parent(const char *path, struct err *e); /* of the folder path is in */

bool fs_is_full(int errnum); /* of a disk without room, or a quota without */

/* The sentence for a failed write, by errno: a full disk is named as such. -1. */
int fs_write_error(const char *path, struct err *e);
int fs_error(const char *doing, const char *path, struct err *e); /* of another deed: "create folder" */
/* sock_listen_unix(), with that sentence where there is no room for the socket's name. */
int fs_listen_unix(const char *path, mode_t mode, struct err *e);
/* What another program that was to write path said is in e: a full disk is named likewise. -1. */
int fs_told_full(const char *path, struct err *e);

char *fs_parent(const char *path); /* the folder path is in, malloc'd; "." for a name alone */

/* Removes a file or a whole folder, not following symlinks; what is not there is no error. */
int fs_remove_tree(const char *path, struct err *e);

char *fs_read_link(const char *path); /* what a symbolic link says, malloc'd; NULL with errno */

bool fs_exists(const char *path); /* a dangling symlink does not */

/* Opens a log to append to it, made when it is not there; a pipe in its place is refused. */
int fs_open_log(const char *path, struct err *e);

/* Moves path to path.1 when it is larger than limit, so that a log that is appended to has a ceiling. */
void fs_rotate(const char *path, off_t limit);

/* The last lines of a file, at most so many lines and bytes; malloc'd, "" when there are none or it is unreadable. */
char *fs_tail(const char *path, size_t lines, size_t bytes);

/* Bytes free for this user on the file system that holds path, or the nearest folder above it that is there. */
int fs_free_space(const char *path, unsigned long long *bytes, struct err *e);

#endif
