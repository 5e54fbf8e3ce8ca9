/* be.h - big-endian integers at any alignment, as they stand in network packets and in files of others' formats. */
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

static inline uint16_t be16_get(const uint8_t *p) { return (uint16_t)(p[0] << 8 | p[1]); }

static inline void be16_put(uint8_t *p, uint16_t v)
{
	p[0] = (uint8_t)(v >> 8);
	p[1] = (uint8_t)v;
}
static inline void be32_put(uint8_t *p, uint32_t v)
{
	be16_put(p, (uint16_t)(v >> 16));
	be16_put(p + 2, (uint16_t)v);
}

#endif
