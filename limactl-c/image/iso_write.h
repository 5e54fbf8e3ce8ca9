/* iso_write.h - a small ISO 9660 file system with Rock Ridge names: the seed a guest's first boot reads.
 *
 * Written here and not by libarchive, which stamps the time into some twenty places, and its own version, so that
 * the same input gives other bytes each second. Sources: ECMA-119, SUSP 1.12, RRIP 1.10.
 */
#ifndef LIMA_IMAGE_ISO_WRITE_H
#define LIMA_IMAGE_ISO_WRITE_H

#include "limactl-c/image/manifest.h"
#include "limactl-c/image/newfile.h"

enum { ISO_LABEL_MAX = 32, ISO_NAME_MAX = 128, ISO_DEPTH_MAX = 7 };

/* The manifest's files and their folders (mode 0755), owned by root, dated 1980, in a volume of that label, which keeps its case
 * (cloud-init looks for "cidata"). The same input gives the same bytes. */
int iso_write(const struct newfile *to, const char *label, const struct manifest *m, struct err *e);

#endif
