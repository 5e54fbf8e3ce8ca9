/* folder.h - named folders (instances, disks): each is there with all its files or not at all.
 *
 * One is built beside its place, as ".NAME.PID.new", and renamed; one that goes is renamed to ".NAME.PID.deleted" first.
 * What a killed process has left of either is removed by the next who makes or removes something there.
 */
#ifndef LIMA_FOLDER_H
#define LIMA_FOLDER_H

#include <stddef.h>

#include "lib/err.h"

/* By the rule of text_check_name(). what is named, for messages: "instance". */
int folder_check_name(const char *name, const char *what, struct err *e);

/* Makes home/name (0700); fill puts its files into an empty folder. ERR_EXISTS: there is one already. */
int folder_make(const char *home, const char *name, const char *what,
		int (*fill)(const char *dir, const void *arg, struct err *e), const void *arg, struct err *e);

/* Moves a folder of home to home/name, where nothing may be yet. */
int folder_move(const char *from, const char *home, const char *name, const char *what, struct err *e);

/* Removes what killed processes have left in dir: such folders, and files they were writing (fs_write_atomic()). */
void folder_sweep(const char *dir);

/* The folders of home that have such a name, sorted, malloc'd; none when home is not there. Whatever else lies there
 * (.DS_Store, _disks, notes) is not ours to complain about. */
int folder_list(const char *home, const char *what, char ***names, size_t *count, struct err *e);
void folder_list_free(char **names, size_t count);

int folder_remove(const char *home, const char *name, struct err *e);

#endif
