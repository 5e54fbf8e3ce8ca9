/* gunzip.h - gzip data with its checksums looked at, which libarchive 3.6 reads past: damage must not become an image. */
#ifndef LIMA_IMAGE_GUNZIP_H
#define LIMA_IMAGE_GUNZIP_H

#include <stdbool.h>
#include <stddef.h>

#include "limactl-c/image/sink.h"

enum { GUNZIP_MAGIC = 2 }; /* bytes that tell */

bool gunzip_is_gzip(const unsigned char *p, size_t n);

/* Where the packed bytes are: a file, from where it is now, or memory. */
struct gunzip_input {
	int fd; /* borrowed; -1: memory */
	const unsigned char *p;
	size_t n;
};

/* Unpacks all members; behind the last one there may be zeros only. ERR_INVALID says what is wrong, without a name. */
int gunzip(struct gunzip_input *in, struct sink *to, struct err *e);

#endif
