/* file_hash.h - what both ends of a copy must agree on about a file. */
#ifndef LIMA_FILE_HASH_H
#define LIMA_FILE_HASH_H

#include <stdint.h>
#include <sys/types.h>

#ifdef __APPLE__
#define FILE_MTIME(st) ((st)->st_mtimespec)
#else
#define FILE_MTIME(st) ((st)->st_mtim)
#endif

/* Of the first n bytes; holes count as the zeros they are. -1 when there are not so many, or with errno. Tells different
 * content apart, but for content made to deceive it: whoever sends a file decides about it anyway. */
int file_hash(int fd, off_t n, uint64_t *hash);

#endif
