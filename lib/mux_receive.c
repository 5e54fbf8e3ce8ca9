/* mux_receive.c - what the peer says about streams: bytes, credit. */
#include <string.h>

#include "lib/mux_internal.h"

/* Queues a CREDIT; it goes out at once when the peer may be waiting for it, else along with other output. */
static void owe_credit(struct mux_stream *s)
{
	uint64_t owed = s->rx_consumed - s->rx_credited, unread = s->rx_received - s->rx_consumed;

	if (!owed)
		return;
	if (!node_listed(&s->credit))
		list_add(&s->mux->credits, &s->credit);
	if (mux_at_end(s) || owed >= MUX_WINDOW / 2 || (owed >= CREDIT_SMALL && owed >= unread))
		s->mux->credit_now = true;
}

void stream_consumed(struct mux_stream *s, size_t n)
{
	s->rx_consumed += n;
	if (s->rx_consumed + s->rx_fin == s->rx_received) {
		s->rx_consumed = s->rx_received;
		memory_rx_empty(s);
	}
	owe_credit(s);
}

static void violated(struct mux_stream *s, enum mux_reset_code code)
{
	control_reset(s->mux, s->id, code);
	stream_fail(s, code);
}

/* Puts the n bytes at p behind those that are held. -1: s is gone. */
static int keep(struct mux_stream *s, const uint8_t *p, size_t n)
{
	size_t held = (size_t)(s->rx_received - s->rx_consumed);

	if (memory_rx(s, held + n) < 0) {
		violated(s, MUX_RESET_LIMIT);
		return -1;
	}
	ring_put(&s->rx, s->rx_received, p, n);
	return 0;
}

/* What the program left of the bytes that lie where they came. */
static void keep_rest(struct mux_stream *s)
{
	const uint8_t *p = s->direct + (s->rx_consumed - s->direct_at);
	uint64_t end = s->rx_received;

	s->direct = NULL;
	if (s->state != STREAM_LIVE || s->rx_consumed == s->rx_received)
		return;
	s->rx_received = s->rx_consumed;
	if (keep(s, p, (size_t)(end - s->rx_consumed) - s->rx_fin) == 0)
		s->rx_received = end;
}

void stream_data(struct mux *m, const struct wire_frame *f, const uint8_t *p)
{
	struct mux_stream *s = stream_find(m, f->id);
	size_t held;

	if (!s || s->state == STREAM_LEAVING)
		return; /* gone here, the peer will hear of it */
	held = (size_t)(s->rx_received - s->rx_consumed);
	if (!m->settled || s->rx_fin || f->arg != (uint32_t)s->rx_received || held + f->len > MUX_WINDOW ||
	    (!f->len && !f->flags)) {
		violated(s, MUX_RESET_PROTOCOL);
		return;
	}
	/* Who takes all of it at once takes it from where it lies. */
	if (!held && f->len) {
		s->direct = p;
		s->direct_at = s->rx_received;
	} else if (keep(s, p, f->len) < 0) {
		return;
	}
	s->rx_received += f->len;
	if (f->flags & WIRE_FIN) {
		s->rx_fin = true;
		s->rx_received++;
		stream_consumed(s, 0);
	}
	m->ops.readable(m->ctx, s);
	if (s->direct)
		keep_rest(s);
}

void stream_advance(struct mux_stream *s, uint64_t offset)
{
	s->tx_base = offset;
	if (s->tx_base >= s->tx_end)
		memory_tx_empty(s);
}

void stream_credit(struct mux *m, const struct wire_frame *f)
{
	struct mux_stream *s;

	if (!f->id) {
		control_ack(&m->control, m->control.base + (uint32_t)(f->arg - (uint32_t)m->control.base));
		return;
	}
	s = stream_find(m, f->id);
	if (!s || s->state == STREAM_LEAVING)
		return;
	if (!m->settled || (uint32_t)(f->arg - (uint32_t)s->tx_base) > s->tx_sent - s->tx_base) {
		violated(s, MUX_RESET_PROTOCOL);
		return;
	}
	stream_advance(s, s->tx_base + (uint32_t)(f->arg - (uint32_t)s->tx_base));
	if (stream_tx_done(s) && mux_at_end(s)) {
		/* The peer consumed the last of it, so it is the one that has nothing more to wait for. */
		control_reset(m, s->id, 0);
		stream_close(s);
	} else {
		stream_tell_writable(s);
	}
}
