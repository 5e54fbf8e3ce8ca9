/* unpack.h - packed images (.gz .xz .bz2 .zst) and members of archives, through libarchive. */
#ifndef LIMA_IMAGE_UNPACK_H
#define LIMA_IMAGE_UNPACK_H

#include <stdbool.h>

#include "limactl-c/image/sink.h"

/* Whether a path or URL names a packed file, by its ending (a URL's query left out). */
bool unpack_is_packed(const char *location);

/* Whether it names an archive of many files (.tar.xz), which is no image. */
bool unpack_is_archive(const char *location);

/* Unpacks what is left of fd. name is for messages. */
int unpack_stream(int fd, const char *name, struct sink *to, struct err *e);
int unpack_bytes(const void *p, size_t n, const char *name, struct sink *to, struct err *e);

/* Writes one regular file of an archive (zip: a wheel; ISO 9660). member is a relative path without "..". */
int unpack_member(const char *archive, const char *member, struct sink *to, struct err *e);

#endif
