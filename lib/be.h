/* be.h - big-endian integers at any alignment, as they stand in qcow2 images. */
#ifndef LIMA_BE_H
#define LIMA_BE_H

#include <stddef.h>
#include <stdint.h>

/* Of n bytes, 8 at most. */
static inline uint64_t be_get(const uint8_t *p, size_t n)
{
	uint64_t v = 0;

	while (n--)
		v = v << 8 | *p++;
	return v;
}

#endif
