/* disk_files.h - the names in a disk's folder; for disk.c and disk_make.c only. */
#ifndef LIMA_DISK_FILES_H
#define LIMA_DISK_FILES_H

#include "limactl-c/base/qcow2.h"

#define DISK_DATA "datadisk"
#define DISK_IN_USE_BY "in_use_by"
#define DISK_LOCK "lock"
/* "raw": its bytes are the guest's from the first on, whatever they look like by now: a guest that writes the header of
 * another format there must not choose what the host reads. Missing for disks made by Lima. */
#define DISK_FORMAT "format"

char *disk_home(struct err *e);                       /* $LIMA_HOME/_disks, malloc'd; not made */
char *disk_file(const char *path, const char *file); /* another file of the folder of a datadisk, malloc'd */

/* Format and size of a datadisk: by its bytes, unless it is known to be raw. */
int disk_inspect(const char *path, struct qcow2_info *info, struct err *e);

#endif
