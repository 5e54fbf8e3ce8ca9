/* inflate.h - one packed cluster of a qcow2 image. The bytes come from outside and are not trusted. */
#ifndef LIMA_IMAGE_INFLATE_H
#define LIMA_IMAGE_INFLATE_H

#include <stddef.h>

#include "lib/err.h"

/* Each fills out completely from a stream that begins at in and ends anywhere up to in + n; what lies behind it is ignored.
 * ERR_INVALID when it does not hold that much. */
int inflate_raw(const unsigned char *in, size_t n, unsigned char *out, size_t size, struct err *e); /* deflate */
int inflate_zstd(const unsigned char *in, size_t n, unsigned char *out, size_t size, struct err *e);

#endif
