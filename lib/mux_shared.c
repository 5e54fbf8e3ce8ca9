/* mux_shared.c - stream bytes from the host to the guest by way of memory that both see (docs/protocol.md).
 *
 * The host writes whole frames into it and names their place in a frame on the carrier; the guest takes them from where they
 * lie. One word of the guest's says how many such places of this link it is done with. It is all the host ever reads there, and
 * is not believed beyond what was handed over: a guest that lies spoils nothing but its own bytes.
 */
#include <string.h>

#include "lib/mux_internal.h"

/* In the memory: the host's link, the guest's word (that link's low half, then the count), and from here on frames. */
enum { LINK_AT = 0, DONE_AT = 64, FRAMES_AT = 128 };

/* Of the machine's own byte order: both sides run on one processor. */
static uint64_t *word_at(const struct shared_places *s, size_t at)
{
	return (uint64_t *)(void *)(s->memory + at);
}

void mux_share(struct mux *m, void *memory, size_t size)
{
	m->shared = (struct shared_places){ .memory = size >= MUX_SHARED_MIN ? memory : NULL, .size = size, .head = FRAMES_AT };
	shared_link(m);
}

void shared_link(struct mux *m)
{
	struct shared_places *s = &m->shared;

	s->on = false;
	s->made = s->done = 0;
	s->head = FRAMES_AT;
	if (s->memory && m->side == MUX_HOST)
		__atomic_store_n(word_at(s, LINK_AT), m->link, __ATOMIC_RELEASE);
}

bool shared_is_seen(const struct mux *m)
{
	const struct shared_places *s = &m->shared;

	return s->memory && m->side == MUX_GUEST && m->peer &&
	       __atomic_load_n(word_at(s, LINK_AT), __ATOMIC_ACQUIRE) == m->peer;
}

/* --- the host --- */

static void note_done(struct mux *m)
{
	struct shared_places *s = &m->shared;
	uint64_t word = __atomic_load_n(word_at(s, DONE_AT), __ATOMIC_ACQUIRE);
	uint32_t done = (uint32_t)word;

	if (word >> 32 == (uint32_t)m->link && done - s->done <= s->made - s->done)
		s->done = done;
}

uint8_t *shared_take(struct mux *m, size_t n, uint32_t *at)
{
	struct shared_places *s = &m->shared;
	size_t end = s->size, tail;

	if (!s->on)
		return NULL;
	note_done(m);
	if (s->made - s->done == SHARED_PLACES)
		return NULL;
	tail = s->place[s->done % SHARED_PLACES];
	if (s->made == s->done)
		s->head = FRAMES_AT;
	else if (s->head > tail && s->size - s->head < n)
		s->head = FRAMES_AT;
	if (s->made != s->done && s->head <= tail)
		end = tail;
	if (end - s->head < n)
		return NULL;
	*at = (uint32_t)s->head;
	s->place[s->made++ % SHARED_PLACES] = s->head;
	s->head += n;
	return s->memory + *at;
}

/* --- the guest --- */

const uint8_t *shared_given(struct mux *m, const struct wire_frame *f)
{
	const struct shared_places *s = &m->shared;

	if (!s->memory || m->side != MUX_GUEST || f->id < FRAMES_AT || f->id > s->size || f->arg > s->size - f->id)
		return NULL;
	return s->memory + f->id;
}

void shared_done(struct mux *m)
{
	struct shared_places *s = &m->shared;

	__atomic_store_n(word_at(s, DONE_AT), m->peer << 32 | ++s->done, __ATOMIC_RELEASE);
}
