/* qcow2_build.h - random qcow2 images in memory, with what a guest must read of them. For the unit test and the fuzzer. */
#ifndef LIMA_TESTS_QCOW2_BUILD_H
#define LIMA_TESTS_QCOW2_BUILD_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

#include "limactl-c/base/mem.h"
#include "limactl-c/image/qcow2_read.h"

enum { QB_CLUSTERS_MAX = 200 };
enum qb_kind { QB_MISSING, QB_ZERO, QB_ZERO_ALLOCATED, QB_DATA, QB_PACKED, QB_KINDS };

struct qb {
	unsigned char *file, *guest; /* the image; what the guest sees (missing clusters: below) */
	size_t len, cap;
	uint64_t size; /* of guest */
	unsigned cluster_bits, version;
	bool zstd;
	bool missing[QB_CLUSTERS_MAX];
	uint64_t seed;
};

static inline uint32_t qb_random(struct qb *b, uint32_t below)
{
	b->seed = b->seed * 6364136223846793005ULL + 1442695040888963407ULL;
	return (uint32_t)(b->seed >> 33) % below;
}

static inline void qb_be(unsigned char *p, uint64_t v, size_t n)
{
	while (n--) {
		p[n] = (unsigned char)v;
		v >>= 8;
	}
}

/* n zeroed bytes at the end of the file, at a multiple of align; their offset. */
static inline size_t qb_room(struct qb *b, size_t n, size_t align)
{
	size_t at = (b->len + align - 1) / align * align;

	if (at + n > b->cap) {
		b->file = xrealloc(b->file, 2 * (at + n));
		b->cap = 2 * (at + n);
	}
	memset(b->file + b->len, 0, at + n - b->len);
	b->len = at + n;
	return at;
}

static inline size_t qb_pack(struct qb *b, const unsigned char *in, unsigned char *out, size_t size)
{
	z_stream z = { .next_in = (unsigned char *)(uintptr_t)in, .avail_in = (unsigned)size, .next_out = out,
		       .avail_out = (unsigned)size };
	size_t n;

	if (b->zstd) {
		n = ZSTD_compress(out, size, in, size, 1);
		return ZSTD_isError(n) ? 0 : n;
	}
	deflateInit2(&z, 1, Z_DEFLATED, -12, 9, Z_DEFAULT_STRATEGY);
	n = deflate(&z, Z_FINISH) == Z_STREAM_END ? size - z.avail_out : 0;
	deflateEnd(&z);
	return n;
}

/* Data of the cluster: random, or words that can be packed. */
static inline void qb_content(struct qb *b, unsigned char *p, size_t n, bool packable)
{
	unsigned char c = (unsigned char)qb_random(b, 256);

	for (size_t i = 0; i < n; i++)
		p[i] = packable ? (unsigned char)(c + i / 97) : (unsigned char)qb_random(b, 256);
}

static inline uint64_t qb_entry(struct qb *b, enum qb_kind kind, unsigned char *content)
{
	size_t n = (size_t)1 << b->cluster_bits, packed, at;
	unsigned char *out = xmalloc(n);
	uint64_t entry = 0;

	switch (kind) {
	case QB_ZERO:
		entry = 1;
		break;
	case QB_ZERO_ALLOCATED:
		at = qb_room(b, n, n);
		memset(b->file + at, 0xee, n);
		entry = at | 1 | 1ULL << 63;
		break;
	case QB_PACKED:
		qb_content(b, content, n, true);
		packed = qb_pack(b, content, out, n);
		if (packed) {
			unsigned offset_bits = 62 - (b->cluster_bits - 8);

			at = qb_room(b, packed, 1 + qb_random(b, 3));
			memcpy(b->file + at, out, packed);
			entry = 1ULL << 62 | at | (uint64_t)((at + packed - 1) / 512 - at / 512) << offset_bits;
			break;
		} /* fall through */
	case QB_DATA:
		if (kind == QB_DATA)
			qb_content(b, content, n, false);
		at = qb_room(b, n, n);
		memcpy(b->file + at, content, n);
		entry = at | 1ULL << 63;
		break;
	default:
		break;
	}
	free(out);
	return entry;
}

static inline void qb_header(struct qb *b, size_t l1_entries)
{
	unsigned char *h = b->file;

	memcpy(h, "QFI\xfb", 4);
	qb_be(h + 4, b->version, 4);
	qb_be(h + 20, b->cluster_bits, 4);
	qb_be(h + 24, b->size, 8);
	qb_be(h + 36, l1_entries, 4);
	qb_be(h + 40, (size_t)1 << b->cluster_bits, 8);
	if (b->version == 3) {
		qb_be(h + 72, b->zstd ? 8 : 0, 8);
		qb_be(h + 96, 4, 4);
		qb_be(h + 100, 112, 4);
		h[104] = b->zstd;
	}
}

/* Reference counts are left out: no reader needs them, and qemu-img only warns. */
static inline void qb_build(struct qb *b, uint64_t seed)
{
	size_t n, clusters, per_table, tables;

	*b = (struct qb){ .seed = seed };
	b->cluster_bits = 9 + qb_random(b, 5);
	b->version = 2 + qb_random(b, 2);
	b->zstd = b->version == 3 && qb_random(b, 2);
	n = (size_t)1 << b->cluster_bits;
	clusters = 1 + qb_random(b, QB_CLUSTERS_MAX);
	b->size = (clusters - 1) * n + 512 * (1 + qb_random(b, (uint32_t)(n / 512)));
	per_table = n / 8;
	tables = (clusters + per_table - 1) / per_table;
	b->guest = xcalloc(clusters, n);
	qb_room(b, n, 1);
	qb_room(b, tables * 8, n);
	qb_header(b, tables);
	for (size_t t = 0; t < tables; t++) {
		bool absent = qb_random(b, 4) == 0;
		size_t table = absent ? 0 : qb_room(b, n, n);

		for (size_t i = t * per_table; i < clusters && i < (t + 1) * per_table; i++) {
			enum qb_kind kind = absent ? QB_MISSING : (enum qb_kind)qb_random(b, QB_KINDS);
			uint64_t entry;

			if (b->version == 2 && (kind == QB_ZERO || kind == QB_ZERO_ALLOCATED))
				kind = QB_DATA;
			entry = qb_entry(b, kind, b->guest + i * n);
			b->missing[i] = kind == QB_MISSING;
			if (!absent)
				qb_be(b->file + table + 8 * (i % per_table), entry, 8);
		}
		qb_be(b->file + n + 8 * t, absent ? 0 : table | 1ULL << 63, 8);
	}
}

static inline void qb_free(struct qb *b)
{
	free(b->file);
	free(b->guest);
}

/* A byte_source over memory. */
struct qb_memory {
	const unsigned char *data;
	size_t len;
};

static inline long qb_read(void *arg, uint64_t at, void *buf, size_t n, struct err *e)
{
	const struct qb_memory *m = arg;

	(void)e;
	if (at >= m->len)
		return 0;
	if (n > m->len - at)
		n = (size_t)(m->len - at);
	memcpy(buf, m->data + at, n);
	return (long)n;
}

#endif
