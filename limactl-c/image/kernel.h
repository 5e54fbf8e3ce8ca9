/* kernel.h - the plain kernel inside an EFI "zboot" image, which is how distributions ship arm64's: VZ's Linux loader and
 * QEMU's -kernel want what is inside. Source: Linux, drivers/firmware/efi/libstub/zboot-header.S. */
#ifndef LIMA_IMAGE_KERNEL_H
#define LIMA_IMAGE_KERNEL_H

#include <stddef.h>

#include "lib/err.h"

enum { KERNEL_HEADER = 64, KERNEL_MAX = 256 << 20 };

struct zboot {
	size_t payload, len; /* where the packed kernel lies, in bytes */
};

/* Whether the image of n bytes is such a one; -1 when it is, but its payload is not inside it or is packed in a way
 * we do not know; 0: it is none; 1: *z is filled. */
int kernel_zboot(const unsigned char *image, size_t n, struct zboot *z, struct err *e);

#endif
