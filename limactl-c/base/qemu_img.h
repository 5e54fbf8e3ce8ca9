/* qemu_img.h - runs of qemu-img, which makes and grows disks. */
#ifndef LIMA_QEMU_IMG_H
#define LIMA_QEMU_IMG_H

#include "lib/err.h"

/* Runs argv ("qemu-img", …, NULL), which writes path, to its end, a minute at most. -1: it failed, and the sentence has what
 * it said; ERR_NOTFOUND: it is not installed, and the sentence says what is to be. */
int qemu_img(const char *const *argv, const char *path, struct err *e);

#endif
