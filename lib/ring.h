/* ring.h - the bytes of a stream between two absolute offsets, in memory that grows on demand.
 *
 * The caller keeps the offsets; the ring only knows where a byte of a given offset lies. Capacities are
 * powers of two. An empty ring owns no memory.
 */
#ifndef LIMA_RING_H
#define LIMA_RING_H

#include <stddef.h>
#include <stdint.h>

struct ring {
	uint8_t *data; /* NULL when cap is 0 */
	size_t cap;
};

void ring_free(struct ring *r); /* also makes it empty and reusable */

/* Makes room for need bytes from offset base on, keeping those in [base, end). -1 when memory is short or
 * need is above max (a power of two); the ring is then unchanged. */
int ring_room(struct ring *r, uint64_t base, uint64_t end, size_t need, size_t max);

/* Puts the bytes [base, end) of r, at their offsets, into another ring that has room for them. */
void ring_copy(const struct ring *r, uint64_t base, uint64_t end, struct ring *other);

/* Where the byte at offset lies, and in *n how many follow it without a wrap. cap must not be 0. */
uint8_t *ring_at(const struct ring *r, uint64_t offset, size_t *n);

/* Copies; the range must be within what ring_room() made room for. */
void ring_put(struct ring *r, uint64_t offset, const uint8_t *p, size_t n);
void ring_get(const struct ring *r, uint64_t offset, uint8_t *p, size_t n);

#endif
