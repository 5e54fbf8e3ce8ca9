/* qcow2_read.h - the guest's bytes of a qcow2 image (versions 2 and 3), without qemu-img.
 *
 * Nothing the image says is trusted: offsets are checked against the file, sizes against bounds, and what it names
 * outside itself is not opened here. Source: QEMU's docs/interop/qcow2.rst.
 */
#ifndef LIMA_IMAGE_QCOW2_READ_H
#define LIMA_IMAGE_QCOW2_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/err.h"

/* Where bytes come from: a file, memory, the image below. */
struct byte_source {
	/* Up to n bytes from at; fewer only at the end, -1 on failure. */
	long (*read)(void *arg, uint64_t at, void *buf, size_t n, struct err *e);
	void *arg;
	uint64_t size;
};

enum { QCOW2_NAME_MAX = 1023 };

struct qcow2;

/* file stays the caller's and must outlive the reader. */
struct qcow2 *qcow2_open(const struct byte_source *file, struct err *e);
void qcow2_close(struct qcow2 *q);

uint64_t qcow2_size(const struct qcow2 *q);         /* bytes the guest sees */
size_t qcow2_cluster_size(const struct qcow2 *q);   /* bytes */
const char *qcow2_backing_name(const struct qcow2 *q); /* as the image writes it; NULL: it stands alone */

/* What lies below clusters the image does not hold; without it they read as zeros. Borrowed. */
void qcow2_set_backing(struct qcow2 *q, const struct byte_source *backing);

/* Whether all tables and clusters lie inside the file: one that was cut short is told from a whole one without reading it. */
int qcow2_check(struct qcow2 *q, struct err *e);

/* One whole cluster into out (cluster_size bytes); *zero: it is all zeros, and out was not touched. */
int qcow2_read_cluster(struct qcow2 *q, uint64_t index, unsigned char *out, bool *zero, struct err *e);

#endif
