#include "lib/file_hash.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "lib/le.h"

enum { PIECE = 64 * 1024 };

/* Eight bytes a turn: a byte a turn would take longer than the network takes. */
static uint64_t add(uint64_t h, const uint8_t *p, size_t n)
{
	for (; n >= 8; n -= 8, p += 8) {
		h = (h ^ le64_get(p)) * 0x9e3779b97f4a7c15u;
		h ^= h >> 32;
	}
	for (; n; n--)
		h = (h ^ *p++) * 0x100000001b3u;
	return h;
}

int file_hash(int fd, off_t n, uint64_t *hash)
{
	uint8_t piece[PIECE];
	uint64_t h = (uint64_t)n;

	for (off_t at = 0; at < n;) {
		size_t want = n - at < PIECE ? (size_t)(n - at) : PIECE, got = 0;

		/* Whole pieces, so that both ends cut the bytes alike. */
		while (got < want) {
			ssize_t k = pread(fd, piece + got, want - got, at + (off_t)got);

			if (k < 0 && errno == EINTR)
				continue;
			if (k <= 0)
				return -1;
			got += (size_t)k;
		}
		h = add(h, piece, want);
		at += (off_t)want;
	}
	*hash = h;
	return 0;
}
