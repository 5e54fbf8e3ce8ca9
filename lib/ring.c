#include "lib/ring.h"

#include <stdlib.h>
#include <string.h>

enum { RING_MIN = 512 }; /* an idle stream that awaits one small acknowledgement stays cheap */

void ring_free(struct ring *r)
{
	free(r->data);
	r->data = NULL;
	r->cap = 0;
}

uint8_t *ring_at(const struct ring *r, uint64_t offset, size_t *n)
{
	size_t at = (size_t)offset & (r->cap - 1);

	*n = r->cap - at;
	return r->data + at;
}

void ring_put(struct ring *r, uint64_t offset, const uint8_t *p, size_t n)
{
	size_t part;

	for (; n; offset += part, p += part, n -= part) {
		uint8_t *to = ring_at(r, offset, &part);

		if (part > n)
			part = n;
		memcpy(to, p, part);
	}
}

void ring_get(const struct ring *r, uint64_t offset, uint8_t *p, size_t n)
{
	size_t part;

	for (; n; offset += part, p += part, n -= part) {
		const uint8_t *from = ring_at(r, offset, &part);

		if (part > n)
			part = n;
		memcpy(p, from, part);
	}
}

void ring_copy(const struct ring *r, uint64_t base, uint64_t end, struct ring *other)
{
	size_t part;

	for (uint64_t at = base; at < end; at += part) {
		const uint8_t *from = ring_at(r, at, &part);

		if (part > end - at)
			part = (size_t)(end - at);
		ring_put(other, at, from, part);
	}
}

int ring_room(struct ring *r, uint64_t base, uint64_t end, size_t need, size_t max)
{
	struct ring bigger = { .cap = r->cap ? r->cap : RING_MIN };

	if (need <= r->cap)
		return 0;
	if (need > max)
		return -1;
	while (bigger.cap < need)
		bigger.cap *= 2;
	bigger.data = malloc(bigger.cap);
	if (!bigger.data)
		return -1;
	ring_copy(r, base, end, &bigger);
	ring_free(r);
	*r = bigger;
	return 0;
}
