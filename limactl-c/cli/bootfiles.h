/* bootfiles.h - what direct boot takes out of images: kept in the cache's folder boot/sha256-KEY, where KEY stands for
 * the file it was taken from, by its path, size and time. */
#ifndef LIMA_CLI_BOOTFILES_H
#define LIMA_CLI_BOOTFILES_H

#include "lib/err.h"

/* Kernel, initramfs and arguments of an ISO's own loader; malloc'd, NULL on failure. ERR_NOTFOUND or ERR_STATE when no
 * loader's configuration can be read there. */
int bootfiles_of_iso(const char *iso, char **kernel, char **initrd, char **args, struct err *e);

/* The kernel as QEMU starts it: the same path, or that of the plain one inside an EFI zboot image; malloc'd. */
char *bootfiles_kernel(const char *path, struct err *e);

#endif
