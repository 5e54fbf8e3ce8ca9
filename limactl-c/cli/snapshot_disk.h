/* snapshot_disk.h - snapshots of an instance that stands still: of its disk, by qemu-img. */
#ifndef LIMA_CLI_SNAPSHOT_DISK_H
#define LIMA_CLI_SNAPSHOT_DISK_H

#include "lib/err.h"
#include "limactl-c/store/inst.h"

/* Each holds the instance; whenever it is interrupted the disk has the snapshot, or is as in it, or not. */
int snapshot_disk_create(const struct inst *i, const char *tag, struct err *e);
int snapshot_disk_apply(const struct inst *i, const char *tag, struct err *e);
int snapshot_disk_delete(const struct inst *i, const char *tag, struct err *e);

#endif
