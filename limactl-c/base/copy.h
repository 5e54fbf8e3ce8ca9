/* copy.h - files and folders copied as cheaply as the file system can. */
#ifndef LIMA_COPY_H
#define LIMA_COPY_H

#include <stdbool.h>

#include "lib/err.h"

/* Makes all of one file another's content without copying; false where the file system cannot. */
bool copy_share_blocks(int from, int to);

/* A new file to with from's content and mode. Blocks are shared where the file system can do that; else only data is
 * copied: a hole stays a hole, so a disk image takes no more room than before. */
int copy_file(const char *from, const char *to, struct err *e);

enum copy_what { COPY_ALL, COPY_SKIP, COPY_EMPTY };

/* Copies what is in folder from into folder to, which is there. what is asked for every name (NULL: all):
 * COPY_SKIP leaves it out, COPY_EMPTY makes a file without content. Symbolic links are copied as such; sockets,
 * pipes and devices are left out. */
int copy_tree(const char *from, const char *to, enum copy_what (*what)(const char *name), struct err *e);

#endif
