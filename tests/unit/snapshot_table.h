/* snapshot_table.h - the table of snapshots in a qcow2 image, as a test wants it. */
#ifndef LIMA_TESTS_SNAPSHOT_TABLE_H
#define LIMA_TESTS_SNAPSHOT_TABLE_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

static inline void be(unsigned char *p, uint64_t v, size_t n)
{
	while (n--) {
		p[n] = (unsigned char)v;
		v >>= 8;
	}
}

/* An entry as QEMU writes it; returns its length. */
static inline size_t entry(unsigned char *p, const char *id, const char *tag, uint64_t memory, size_t extra)
{
	size_t id_len = strlen(id), tag_len = strlen(tag), n = 40 + extra + id_len + tag_len;

	memset(p, 0, n + 8);
	be(p + 12, id_len, 2);
	be(p + 14, tag_len, 2);
	be(p + 16, 1700000000, 4);
	be(p + 24, 61000000000, 8);
	be(p + 32, memory & UINT32_MAX, 4);
	be(p + 36, extra, 4);
	if (extra >= 8)
		be(p + 40, memory, 8);
	if (extra >= 16)
		be(p + 48, 1 << 30, 8);
	if (extra >= 24)
		be(p + 56, 7, 8);
	memcpy(p + 40 + extra, id, id_len);
	memcpy(p + 40 + extra + id_len, tag, tag_len);
	return (n + 7) / 8 * 8;
}

#endif
