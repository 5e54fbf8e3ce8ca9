/* qcow2_snapshots.h - the snapshots a qcow2 image has inside, read from its own table: no program is run, and a machine that has
 * the image open is not disturbed. Its bytes come from outside and are not trusted.
 */
#ifndef LIMA_QCOW2_SNAPSHOTS_H
#define LIMA_QCOW2_SNAPSHOTS_H

#include <stddef.h>
#include <stdint.h>

#include "lib/cleanup.h"
#include "lib/err.h"
#include "limactl-c/base/sha256.h"

enum { QCOW2_SNAPSHOTS_MAX = 1000, QCOW2_SNAPSHOT_TABLE_MAX = 1 << 20 };
#define QCOW2_NO_ICOUNT UINT64_MAX

struct qcow2_snapshot {
	char *id, *tag;     /* any bytes but NUL */
	uint64_t memory;    /* bytes of the machine's memory in it; 0: only the disk */
	uint64_t disk_size; /* bytes the guest saw; 0: not said */
	uint32_t date;      /* s since the epoch */
	uint64_t clock;     /* ns the machine had run */
	uint64_t icount;    /* QCOW2_NO_ICOUNT: none */
};

struct qcow2_snapshots {
	struct qcow2_snapshot *one; /* in the image's order: oldest first */
	size_t count;
	uint64_t size; /* of the disk as the guest sees it now, bytes */
};
#define QCOW2_SNAPSHOTS_INIT { 0 }

/* ERR_INVALID: it is no qcow2 image, or is damaged; ERR_SYS with ENOENT when it is not there. */
int qcow2_snapshots_read(const char *path, struct qcow2_snapshots *out, struct err *e);
/* The table's bytes, which may go on behind its end. */
int qcow2_snapshots_parse(const unsigned char *table, size_t len, size_t count, struct qcow2_snapshots *out, struct err *e);
void qcow2_snapshots_free(struct qcow2_snapshots *s);
#define auto_snapshots CLEANUP(qcow2_snapshots_free) struct qcow2_snapshots

/* A digest of what all content hangs from (the active L1 table), without the marks of who else uses it: another one when the disk
 * was set back to a snapshot that differs. Says nothing of what is written in place. */
int qcow2_root(const char *path, char hex[SHA256_HEX + 1], struct err *e);

/* The first of that tag; NULL: there is none. */
const struct qcow2_snapshot *qcow2_snapshot_find(const struct qcow2_snapshots *s, const char *tag);

#endif
