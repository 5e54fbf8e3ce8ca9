/* qcow2.h - what a disk image says about itself. Its bytes come from outside and are not trusted. */
#ifndef LIMA_QCOW2_H
#define LIMA_QCOW2_H

#include <stddef.h>
#include <stdint.h>

#include "lib/err.h"

enum { QCOW2_HEADER_MAX = 112 };

struct qcow2_info {
	const char *format; /* "qcow2" or "raw", static */
	uint64_t size;      /* bytes the guest sees */
};

/* Reads the first bytes of an image of file_size bytes. Anything without the magic is raw.
 * ERR_INVALID for a qcow2 that names other files (they would be opened by QEMU) or is of an unknown version. */
int qcow2_parse(const unsigned char *head, size_t len, uint64_t file_size, struct qcow2_info *out, struct err *e);

int qcow2_inspect(const char *path, struct qcow2_info *out, struct err *e);

#endif
