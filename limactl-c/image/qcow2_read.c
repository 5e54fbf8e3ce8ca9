#include "limactl-c/image/qcow2_read.h"

#include <stdlib.h>
#include <string.h>

#include "lib/be.h"
#include "lib/cleanup.h"
#include "limactl-c/base/mem.h"
#include "limactl-c/image/inflate.h"
#include "limactl-c/image/sink.h"

/* Offsets in the header; all numbers are big-endian. */
enum {
	AT_VERSION = 4,
	AT_BACKING = 8,
	AT_BACKING_LEN = 16,
	AT_CLUSTER_BITS = 20,
	AT_SIZE = 24,
	AT_CRYPT = 32,
	AT_L1_ENTRIES = 36,
	AT_L1 = 40,
	LEN_V2 = 72,
	AT_INCOMPATIBLE = 72, /* version 3 from here on */
	AT_HEADER_LEN = 100,
	LEN_V3 = 104,
	AT_COMPRESSION = 104,
	HEADER_MAX = 112,
};
enum { CLUSTER_BITS_MIN = 9, CLUSTER_BITS_MAX = 21, SECTOR = 512 };

#define DIRTY (1u << 0) /* reference counts only, which a reader does not need */
#define CORRUPT (1u << 1)
#define EXTERNAL_DATA (1u << 2)
#define COMPRESSION_TYPE (1u << 3)
#define EXTENDED_L2 (1u << 4)
#define KNOWN (DIRTY | CORRUPT | EXTERNAL_DATA | COMPRESSION_TYPE | EXTENDED_L2)

#define ENTRY_OFFSET 0x00fffffffffffe00ULL
#define ENTRY_PACKED (1ULL << 62)
#define ENTRY_ZERO 1ULL

typedef int (*inflate_fn)(const unsigned char *, size_t, unsigned char *, size_t, struct err *);

struct qcow2 {
	const struct byte_source *file, *backing;
	unsigned version, cluster_bits;
	uint64_t size, l1_entries;
	inflate_fn inflate;
	char *backing_name;
	unsigned char *l1, *l2, *packed; /* packed: a cluster and the sector it may run over into */
	uint64_t l2_at;                  /* of the table in l2; 0: none */
};

static int read_exactly(const struct byte_source *f, uint64_t at, void *buf, size_t n, const char *what, struct err *e)
{
	long k;

	if (at > f->size || n > f->size - at)
		return err_set(e, ERR_INVALID, "%s lies behind the end of the file", what);
	k = f->read(f->arg, at, buf, n, e);
	if (k < 0)
		return -1;
	return (size_t)k == n ? 0 : err_set(e, ERR_INVALID, "the file ends within %s", what);
}

static int check_features(struct qcow2 *q, const unsigned char *head, size_t len, struct err *e)
{
	static const struct {
		uint64_t bit;
		const char *why;
	} refused[] = {
		{ CORRUPT, "it is marked as corrupt; qemu-img check -r all may mend it" },
		{ EXTERNAL_DATA, "its data lies in another file, which is not supported" },
		{ EXTENDED_L2, "it has extended L2 entries, which are not supported; qemu-img convert makes a plain one" },
		{ ~(uint64_t)KNOWN, "it has features this version does not know" },
	};
	uint64_t features = be_get(head + AT_INCOMPATIBLE, 8);
	unsigned type = 0;

	for (size_t i = 0; i < sizeof(refused) / sizeof(*refused); i++)
		if (features & refused[i].bit)
			return err_set(e, ERR_INVALID, "%s", refused[i].why);
	if (features & COMPRESSION_TYPE && len > AT_COMPRESSION && be_get(head + AT_HEADER_LEN, 4) > AT_COMPRESSION)
		type = head[AT_COMPRESSION];
	if (type > 1)
		return err_set(e, ERR_INVALID, "its clusters are packed in a way (%u) this version does not know", type);
	q->inflate = type ? inflate_zstd : inflate_raw;
	return 0;
}

static int read_header(struct qcow2 *q, unsigned char *head, struct err *e)
{
	long len = q->file->read(q->file->arg, 0, head, HEADER_MAX, e);

	if (len < 0)
		return -1;
	if (len < LEN_V2 || memcmp(head, "QFI\xfb", 4) != 0)
		return err_set(e, ERR_INVALID, "it is no qcow2 image");
	q->version = (unsigned)be_get(head + AT_VERSION, 4);
	if (q->version != 2 && q->version != 3)
		return err_set(e, ERR_INVALID, "it is of qcow version %u; only 2 and 3 are known", q->version);
	if (be_get(head + AT_CRYPT, 4))
		return err_set(e, ERR_INVALID, "it is encrypted, which is not supported");
	q->cluster_bits = (unsigned)be_get(head + AT_CLUSTER_BITS, 4);
	if (q->cluster_bits < CLUSTER_BITS_MIN || q->cluster_bits > CLUSTER_BITS_MAX)
		return err_set(e, ERR_INVALID, "its cluster size is not between 512 bytes and 2 MiB");
	q->size = be_get(head + AT_SIZE, 8);
	if (q->size > SINK_MAX_BYTES)
		return err_set(e, ERR_INVALID, "it is larger than %llu GiB", SINK_MAX_BYTES >> 30);
	q->inflate = inflate_raw;
	if (q->version == 2)
		return 0;
	if (len < LEN_V3)
		return err_set(e, ERR_INVALID, "it ends within its header");
	return check_features(q, head, (size_t)len, e);
}

static int read_backing_name(struct qcow2 *q, const unsigned char *head, struct err *e)
{
	uint64_t at = be_get(head + AT_BACKING, 8);
	size_t n = (size_t)be_get(head + AT_BACKING_LEN, 4);

	if (!at)
		return 0;
	if (!n || n > QCOW2_NAME_MAX)
		return err_set(e, ERR_INVALID, "the name of its backing file has no length from 1 to %d", QCOW2_NAME_MAX);
	q->backing_name = xcalloc(1, n + 1);
	if (read_exactly(q->file, at, q->backing_name, n, "the name of its backing file", e) < 0)
		return -1;
	if (strlen(q->backing_name) != n)
		return err_set(e, ERR_INVALID, "the name of its backing file holds a NUL byte");
	return 0;
}

static int read_l1(struct qcow2 *q, const unsigned char *head, struct err *e)
{
	/* A table of one cluster has this many entries, each for one cluster. */
	unsigned covered_bits = q->cluster_bits - 3 + q->cluster_bits;
	uint64_t needed = (q->size >> covered_bits) + ((q->size & ((1ULL << covered_bits) - 1)) != 0);

	if (be_get(head + AT_L1_ENTRIES, 4) < needed)
		return err_set(e, ERR_INVALID, "its first table is too small for its size");
	/* At most 2^40 >> 15 entries of 8 bytes; and not more than the file holds. */
	if (needed * 8 > q->file->size)
		return err_set(e, ERR_INVALID, "its first table lies behind the end of the file");
	q->l1_entries = needed;
	q->l1 = xmalloc(needed * 8);
	return read_exactly(q->file, be_get(head + AT_L1, 8), q->l1, needed * 8, "its first table", e);
}

struct qcow2 *qcow2_open(const struct byte_source *file, struct err *e)
{
	unsigned char head[HEADER_MAX];
	struct qcow2 *q = xcalloc(1, sizeof(*q));

	q->file = file;
	if (read_header(q, head, e) < 0 || read_backing_name(q, head, e) < 0 || read_l1(q, head, e) < 0) {
		qcow2_close(q);
		return NULL;
	}
	q->l2 = xmalloc(qcow2_cluster_size(q));
	q->packed = xmalloc(qcow2_cluster_size(q) + SECTOR);
	return q;
}

void qcow2_close(struct qcow2 *q)
{
	if (!q)
		return;
	free(q->backing_name);
	free(q->l1);
	free(q->l2);
	free(q->packed);
	free(q);
}

uint64_t qcow2_size(const struct qcow2 *q)
{
	return q->size;
}

size_t qcow2_cluster_size(const struct qcow2 *q)
{
	return (size_t)1 << q->cluster_bits;
}

const char *qcow2_backing_name(const struct qcow2 *q)
{
	return q->backing_name;
}

void qcow2_set_backing(struct qcow2 *q, const struct byte_source *backing)
{
	q->backing = backing;
}

/* The L2 entry of a cluster, 0 when there is no table for it. */
static int find_entry(struct qcow2 *q, uint64_t index, uint64_t *entry, struct err *e)
{
	unsigned bits = q->cluster_bits - 3;
	uint64_t at;

	*entry = 0;
	if (index >> bits >= q->l1_entries)
		return err_set(e, ERR_INVALID, "a cluster behind its end is asked for");
	at = be_get(q->l1 + 8 * (index >> bits), 8) & ENTRY_OFFSET;
	if (!at)
		return 0;
	if (at & (qcow2_cluster_size(q) - 1))
		return err_set(e, ERR_INVALID, "a second table does not begin at a cluster");
	if (at != q->l2_at) {
		q->l2_at = 0;
		if (read_exactly(q->file, at, q->l2, qcow2_cluster_size(q), "a second table", e) < 0)
			return -1;
		q->l2_at = at;
	}
	*entry = be_get(q->l2 + 8 * (index & ((1u << bits) - 1)), 8);
	return 0;
}

/* Where packed data lies. A file may end within its last sector. */
static int find_packed(const struct qcow2 *q, uint64_t entry, uint64_t *at, size_t *n, struct err *e)
{
	unsigned offset_bits = 62 - (q->cluster_bits - 8);
	uint64_t sectors = ((entry & ~ENTRY_PACKED & ~(1ULL << 63)) >> offset_bits) + 1, size = q->file->size;

	*at = entry & ((1ULL << offset_bits) - 1);
	*n = (size_t)(sectors * SECTOR - (*at & (SECTOR - 1)));
	if (*n > qcow2_cluster_size(q) + SECTOR || *at >= size)
		return err_set(e, ERR_INVALID, "a packed cluster lies behind the end of the file");
	if (*n > size - *at && *n - (size - *at) >= SECTOR)
		return err_set(e, ERR_INVALID, "the file ends within a packed cluster: it was cut short");
	if (*n > size - *at)
		*n = (size_t)(size - *at);
	return 0;
}

static int read_packed(struct qcow2 *q, uint64_t entry, unsigned char *out, struct err *e)
{
	uint64_t at;
	size_t n;
	long k;

	if (find_packed(q, entry, &at, &n, e) < 0)
		return -1;
	k = q->file->read(q->file->arg, at, q->packed, n, e);
	return k < 0 ? -1 : q->inflate(q->packed, (size_t)k, out, qcow2_cluster_size(q), e);
}

/* The data of a cluster lies in the file, as far as the guest sees it. */
static int check_cluster(const struct qcow2 *q, uint64_t index, uint64_t at, struct err *e)
{
	uint64_t n = qcow2_cluster_size(q), left = q->size - (index << q->cluster_bits);

	if (at & (n - 1))
		return err_set(e, ERR_INVALID, "a cluster does not begin at a multiple of its size");
	if (left < n)
		n = left;
	if (at > q->file->size || n > q->file->size - at)
		return err_set(e, ERR_INVALID, "a cluster lies behind the end of the file, which was cut short");
	return 0;
}

/* What is missing at the end of the file or of the image below reads as zeros. */
static int read_padded(const struct byte_source *f, uint64_t at, unsigned char *out, size_t n, struct err *e)
{
	long k = at < f->size ? f->read(f->arg, at, out, n, e) : 0;

	if (k < 0)
		return -1;
	memset(out + k, 0, n - (size_t)k);
	return 0;
}

int qcow2_read_cluster(struct qcow2 *q, uint64_t index, unsigned char *out, bool *zero, struct err *e)
{
	size_t n = qcow2_cluster_size(q);
	uint64_t entry, at;

	*zero = false;
	if (find_entry(q, index, &entry, e) < 0)
		return -1;
	if (entry & ENTRY_PACKED)
		return read_packed(q, entry, out, e);
	at = entry & ENTRY_OFFSET;
	if (q->version == 3 && entry & ENTRY_ZERO) {
		*zero = true;
		return 0;
	}
	if (!at && q->backing)
		return read_padded(q->backing, index << q->cluster_bits, out, n, e);
	if (!at) {
		*zero = true;
		return 0;
	}
	if (check_cluster(q, index, at, e) < 0)
		return -1;
	return read_padded(q->file, at, out, n, e);
}

int qcow2_check(struct qcow2 *q, struct err *e)
{
	unsigned bits = q->cluster_bits - 3;
	uint64_t clusters = (q->size + qcow2_cluster_size(q) - 1) >> q->cluster_bits, entry, at, i = 0;
	size_t n;

	while (i < clusters) {
		if (!(be_get(q->l1 + 8 * (i >> bits), 8) & ENTRY_OFFSET)) {
			i = ((i >> bits) + 1) << bits; /* no table for these */
			continue;
		}
		if (find_entry(q, i, &entry, e) < 0)
			return -1;
		at = q->version == 3 && entry & ENTRY_ZERO ? 0 : entry & ENTRY_OFFSET;
		if (entry & ENTRY_PACKED ? find_packed(q, entry, &at, &n, e) < 0 : at && check_cluster(q, i, at, e) < 0)
			return -1;
		i++;
	}
	return 0;
}
