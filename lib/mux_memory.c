/* mux_memory.c - the buffers of streams: how large they may be, and which are kept for the next. */
#include <stdlib.h>

#include "lib/mux_internal.h"

enum {
	TX_BUDGET = 2 << 20,      /* bytes all streams together should keep for the peer */
	TX_LEAST = 32 * 1024,     /* what each may keep beyond that: one frame */
	RING_TINY = 512,          /* what a short message needs until it is acknowledged */
	SPARE_BYTES = 512 * 1024, /* kept for the next; tiny ones are not counted */
};

size_t memory_window(const struct mux *m)
{
	size_t window = MUX_WINDOW;

	while (window > TX_LEAST && window * m->wide > TX_BUDGET)
		window /= 2;
	return window;
}

/* A ring of cap bytes. -1: no memory. */
static int get_ring(struct mux *m, struct ring *r, size_t cap)
{
	if (cap == RING_TINY && m->tinies) {
		*r = m->tiny[--m->tinies];
		return 0;
	}
	for (unsigned i = 0; i < m->spares; i++) {
		if (m->spare[i].cap == cap) {
			*r = m->spare[i];
			m->spare[i] = m->spare[--m->spares];
			m->spare_bytes -= cap;
			return 0;
		}
	}
	*r = (struct ring){ 0 };
	return ring_room(r, 0, 0, cap, MUX_WINDOW);
}

/* A busy stream empties its buffers many times a second: then its memory is not given back to the system. */
static void put_ring(struct mux *m, struct ring *r)
{
	if (r->cap == RING_TINY && m->tinies < TINIES) {
		m->tiny[m->tinies++] = *r;
		*r = (struct ring){ 0 };
	} else if (r->cap > RING_SMALL && m->spares < SPARES && m->spare_bytes + r->cap <= SPARE_BYTES) {
		m->spare_bytes += r->cap;
		m->spare[m->spares++] = *r;
		*r = (struct ring){ 0 };
	} else {
		ring_free(r);
	}
}

/* r becomes one of cap bytes; what is in [base, end) moves along. */
static int resize(struct mux *m, struct ring *r, uint64_t base, uint64_t end, size_t cap)
{
	struct ring other;

	if (get_ring(m, &other, cap) < 0)
		return -1;
	ring_copy(r, base, end, &other);
	put_ring(m, r);
	*r = other;
	return 0;
}

/* Counts s->tx among the wide ones, or no more, after a change of it. */
static void count_wide(struct mux_stream *s)
{
	bool wide = s->tx.cap > RING_SMALL;

	if (wide != s->wide)
		s->mux->wide += wide ? 1u : -1u;
	s->wide = wide;
}

static int small_room(struct mux *m, struct ring *r, uint64_t base, uint64_t end, size_t need)
{
	if (!r->cap && need && need <= RING_TINY)
		return get_ring(m, r, RING_TINY);
	return ring_room(r, base, end, need, MUX_WINDOW);
}

int memory_tx(struct mux_stream *s, size_t need)
{
	size_t window = memory_window(s->mux), cap = window;
	int rc = 0;

	if (need <= RING_SMALL && s->tx.cap <= window)
		return small_room(s->mux, &s->tx, s->tx_base, s->tx_end, need);
	/* A window that has become too wide is given up when what it holds fits into less. */
	while (cap < need)
		cap *= 2;
	if (need > s->tx.cap || s->tx.cap > cap)
		rc = resize(s->mux, &s->tx, s->tx_base, s->tx_end, cap);
	count_wide(s);
	return rc < 0 && need <= s->tx.cap ? 0 : rc;
}

int memory_rx(struct mux_stream *s, size_t need)
{
	size_t cap = TX_LEAST;

	if (need <= RING_SMALL || need <= s->rx.cap)
		return small_room(s->mux, &s->rx, s->rx_consumed, s->rx_received, need);
	while (cap < need)
		cap *= 2;
	return resize(s->mux, &s->rx, s->rx_consumed, s->rx_received, cap);
}

void memory_tx_empty(struct mux_stream *s)
{
	put_ring(s->mux, &s->tx);
	count_wide(s);
}

void memory_rx_empty(struct mux_stream *s)
{
	put_ring(s->mux, &s->rx);
}

void memory_tx_settle(struct mux_stream *s)
{
	size_t held = (size_t)(s->tx_end - s->tx_base);
	struct ring small = { 0 };

	if (s->tx.cap <= RING_SMALL || held > RING_SMALL / 8 || small_room(s->mux, &small, 0, 0, held) < 0)
		return;
	ring_copy(&s->tx, s->tx_base, s->tx_end, &small);
	put_ring(s->mux, &s->tx);
	s->tx = small;
	count_wide(s);
}

static void memory_give_back(struct mux *m)
{
	while (m->spares)
		ring_free(&m->spare[--m->spares]);
	m->spare_bytes = 0;
}

void memory_end(struct mux *m)
{
	memory_give_back(m);
	while (m->tinies)
		ring_free(&m->tiny[--m->tinies]);
}

void memory_free(struct mux_stream *s)
{
	ring_free(&s->tx);
	ring_free(&s->rx);
	count_wide(s);
	/* After a burst. */
	if (!s->mux->wide)
		memory_give_back(s->mux);
}
