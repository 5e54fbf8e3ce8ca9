/* mux_resume.c - going on with the streams over a new link.
 *
 * Each side lists its streams with their offsets (RESUME frames), then sends the control bytes the peer lacks,
 * which end with a mark. At the peer's mark a side knows all the peer did before the link came up, and only
 * then sends stream bytes: from where the peer's count stands.
 */
#include "lib/le.h"
#include "lib/mux_internal.h"

static bool within(uint64_t offset, uint64_t first, uint64_t last)
{
	return offset >= first && offset <= last;
}

bool resume_possible(const struct mux *m, const struct wire_hello *h)
{
	const struct control *c = &m->control;

	/* The hash tells a guest restored from an older state that has said other things since. */
	return m->conversation && h->conversation == m->conversation && within(h->rx, c->base, c->high) &&
	       within(c->rx, h->tx_base, h->tx_sent) && control_hash_at(c, h->rx) == h->rx_hash;
}

int resume_begin(struct mux *m)
{
	struct control *c = &m->control;
	uint8_t session[8];

	control_ack(c, m->hello.rx);
	c->sent = c->base;
	c->rx_acked = c->rx;
	m->round++;
	m->table_due = true;
	m->table_at = m->streams.next;
	le64_put(session, m->session);
	if (control_queue(m, CONTROL_MARK, NULL, 0, session, sizeof(session), CONTROL_RING_MAX) == 0)
		return 0;
	mux_conversation_end(m);
	return -1;
}

static void lost(struct mux_stream *s)
{
	control_reset(s->mux, s->id, MUX_RESET_LOST);
	stream_fail(s, MUX_RESET_LOST);
}

static void on_record(struct mux *m, const struct wire_record *r)
{
	struct mux_stream *s = stream_find(m, r->id);

	if (!s)
		return; /* its opening is still to be replayed, or our end of it was */
	s->round = m->round;
	if (within(r->rx_received, s->tx_base, s->tx_high) && within(r->rx_consumed, s->tx_base, r->rx_received) &&
	    within(s->rx_received, r->tx_base, r->tx_sent)) {
		stream_advance(s, r->rx_consumed);
		s->tx_sent = r->rx_received;
	} else {
		lost(s);
	}
}

int resume_table(struct mux *m, const struct wire_frame *f, const uint8_t *p)
{
	unsigned links = m->links;
	struct wire_record r;

	if (m->settled || m->table_seen || f->len % WIRE_RECORD)
		return -1;
	for (uint32_t at = 0; at < f->len && m->links == links; at += WIRE_RECORD) {
		wire_record_unpack(&r, p + at);
		on_record(m, &r);
	}
	m->table_seen = m->links == links && f->flags & WIRE_LAST;
	return 0;
}

/* At the peer's mark: all it did to its streams before the link came up is known. */
static void settle(void *ctx, struct mux_stream *s)
{
	struct mux *m = s->mux;

	if (m->links != *(const unsigned *)ctx)
		return; /* a callback ended the link */
	if (s->round != m->round && s->open_at > m->hello.rx && !s->tx_base) {
		s->tx_sent = 0; /* the peer hears of it only now */
	} else if (s->round != m->round && s->fin && mux_at_end(s)) {
		stream_close(s); /* the peer was through with it, only its last word was lost */
		return;
	} else if (s->round != m->round) {
		lost(s);
		return;
	}
	if (stream_tx_done(s) && mux_at_end(s)) {
		control_reset(m, s->id, 0);
		stream_close(s);
		return;
	}
	if (stream_leave(s))
		return;
	stream_ready(s);
	stream_tell_writable(s);
}

int resume_mark(struct mux *m, uint64_t session)
{
	unsigned links = m->links;

	if (session != m->session)
		return 0; /* of a link that came up on the peer's side only */
	if (m->settled || !m->table_seen)
		return -1;
	m->settled = true;
	stream_each(m, settle, &links);
	return 0;
}
