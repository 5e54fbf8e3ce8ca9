/* initrd.h - a kernel's initramfs with our own archive behind it: the kernel unpacks one after the other. */
#ifndef LIMA_IMAGE_INITRD_H
#define LIMA_IMAGE_INITRD_H

#include "limactl-c/image/manifest.h"
#include "limactl-c/image/newfile.h"

/* Writes base (packed or not, as it is) and a cpio archive of the manifest's files and their folders.
 * The same input gives the same bytes: no dates, owner root, numbering from 1. */
int initrd_write(const struct newfile *to, const char *base, const struct manifest *m, struct err *e);

#endif
