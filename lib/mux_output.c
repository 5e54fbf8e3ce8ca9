/* mux_output.c - what goes to the carrier next.
 *
 * Order: hello, table of streams, control, credits, stream bytes. That control comes first is the promise of
 * mux.h: a message is on its way before any stream byte written after it.
 */
#include <string.h>

#include "lib/le.h"
#include "lib/mux_internal.h"

/* Copying a short payload costs less than naming its place. */
enum { SPREAD_MIN = 4096, FRAME_AROUND = WIRE_HEADER + WIRE_TRAILER };

void output_drop(struct mux *m)
{
	m->part_at = m->parts = 0;
	m->out_len = m->out_total = 0;
	m->spread = false;
}

/* The next n bytes of the output are those at p. */
static void output_add(struct mux *m, const uint8_t *p, size_t n)
{
	struct iovec *last = m->parts ? &m->part[m->parts - 1] : NULL;

	if (last && (const uint8_t *)last->iov_base + last->iov_len == p)
		last->iov_len += n;
	else
		m->part[m->parts++] = (struct iovec){ (void *)p, n };
	m->out_total += n;
}

/* The next n bytes of the output have been put behind those in m->out. */
static void output_used(struct mux *m, size_t n)
{
	output_add(m, m->out + m->out_len, n);
	m->out_len += n;
}

/* What could not be written is moved to the end of m->out (output_settle()), where the used bytes must not be. */
static bool frame_fits(const struct mux *m)
{
	size_t used = m->spread ? m->out_len + m->out_total + WIRE_FRAME_MAX : m->out_len;

	return used + WIRE_FRAME_MAX <= OUT_SIZE && m->parts < MUX_PARTS;
}

static bool frame_fits_spread(const struct mux *m, size_t len)
{
	return len >= SPREAD_MIN && m->parts + 3 <= MUX_PARTS &&
	       m->out_len + m->out_total + len + 2 * FRAME_AROUND <= OUT_SIZE;
}

static uint8_t *frame_payload(struct mux *m)
{
	return m->out + m->out_len + WIRE_HEADER;
}

/* Completes the frame whose payload stands at frame_payload(). */
static void frame_put(struct mux *m, const struct wire_frame *f)
{
	uint8_t *p = m->out + m->out_len;

	wire_header_pack(p, f, m->link, m->tx_seq);
	le32_put(p + WIRE_HEADER + f->len, wire_trailer(f, m->link, m->tx_seq));
	m->tx_seq++;
	output_used(m, FRAME_AROUND + f->len);
}

/* The frame's payload stays in the ring, from offset on. */
static void frame_put_spread(struct mux *m, const struct wire_frame *f, const struct ring *r, uint64_t offset)
{
	size_t part;

	wire_header_pack(m->out + m->out_len, f, m->link, m->tx_seq);
	output_used(m, WIRE_HEADER);
	for (size_t left = f->len; left; offset += part, left -= part) {
		const uint8_t *p = ring_at(r, offset, &part);

		if (part > left)
			part = left;
		output_add(m, p, part);
	}
	le32_put(m->out + m->out_len, wire_trailer(f, m->link, m->tx_seq));
	output_used(m, WIRE_TRAILER);
	m->tx_seq++;
	m->spread = true;
}

static void put_hello(struct mux *m)
{
	struct wire_hello h = m->mine;

	if (m->preamble_due) {
		memset(m->out + m->out_len, 0, WIRE_PREAMBLE);
		output_used(m, WIRE_PREAMBLE);
	}
	h.echo = m->peer;
	h.resume = m->peer && m->verdict;
	h.shared = shared_is_seen(m);
	wire_hello_pack(m->out + m->out_len, &h);
	output_used(m, WIRE_HELLO);
	m->preamble_due = m->hello_due = false;
	m->echoed = m->peer;
}

/* The streams as they stand when the link comes up; those opened later do no harm in it. */
static void put_table(struct mux *m)
{
	while (m->table_due && frame_fits(m)) {
		struct wire_frame f = { .type = WIRE_RESUME };
		uint8_t *p = frame_payload(m);

		for (; m->table_at != &m->streams && f.len + WIRE_RECORD <= MUX_FRAME_MAX; f.len += WIRE_RECORD) {
			struct mux_stream *s = node_of(m->table_at, all);
			const struct wire_record r = { s->id, s->rx_received, s->rx_consumed, s->tx_base, s->tx_high };

			wire_record_pack(p + f.len, &r);
			s->rx_credited = s->rx_consumed;
			m->table_at = m->table_at->next;
		}
		m->table_due = m->table_at != &m->streams;
		f.flags = m->table_due ? 0 : WIRE_LAST;
		frame_put(m, &f);
	}
}

static void put_control(struct mux *m)
{
	struct control *c = &m->control;

	while (c->sent < c->end && frame_fits(m)) {
		struct wire_frame f = { .type = WIRE_CONTROL, .arg = (uint32_t)c->sent };

		f.len = c->end - c->sent < MUX_FRAME_MAX ? (uint32_t)(c->end - c->sent) : MUX_FRAME_MAX;
		ring_get(&c->tx, c->sent, frame_payload(m), f.len);
		frame_put(m, &f);
		c->sent += f.len;
		if (c->high < c->sent)
			c->high = c->sent;
	}
}

static void put_credits(struct mux *m)
{
	if (m->control.rx != m->control.rx_acked && frame_fits(m)) {
		frame_put(m, &(struct wire_frame){ .type = WIRE_CREDIT, .arg = (uint32_t)m->control.rx });
		m->control.rx_acked = m->control.rx;
	}
	while (m->settled && !list_empty(&m->credits) && frame_fits(m)) {
		struct mux_stream *s = node_of(m->credits.next, credit);

		list_del(&s->credit);
		if (s->rx_credited == s->rx_consumed)
			continue;
		frame_put(m, &(struct wire_frame){ .type = WIRE_CREDIT, .id = s->id, .arg = (uint32_t)s->rx_consumed });
		s->rx_credited = s->rx_consumed;
	}
	m->credit_now &= !list_empty(&m->credits);
}

/* One turn of the first stream in line: what its frame says. */
static struct wire_frame turn_of(const struct mux_stream *s, size_t max)
{
	struct wire_frame f = { .type = WIRE_DATA, .id = s->id, .arg = (uint32_t)s->tx_sent };

	if (s->tx_sent < s->tx_end)
		f.len = (uint32_t)(s->tx_end - s->tx_sent < max ? s->tx_end - s->tx_sent : max);
	if (s->fin && s->tx_sent + f.len == s->tx_end)
		f.flags = WIRE_FIN;
	return f;
}

/* The frame has been put. The stream goes to the end of the line. */
static void turn_over(struct mux_stream *s, const struct wire_frame *f)
{
	list_del(&s->ready);
	s->tx_sent += f->len + (f->flags == WIRE_FIN);
	if (s->tx_high < s->tx_sent)
		s->tx_high = s->tx_sent;
	if (!stream_leave(s))
		stream_ready(s);
}

/* False: there is no more room. */
static bool put_data(struct mux *m)
{
	struct mux_stream *s = node_of(m->ready.next, ready);
	struct wire_frame f = turn_of(s, MUX_FRAME_MAX);

	/* A stream that leaves takes its ring along. */
	if (s->state != STREAM_LEAVING && frame_fits_spread(m, f.len)) {
		frame_put_spread(m, &f, &s->tx, s->tx_sent);
	} else if (!frame_fits(m)) {
		return false;
	} else if (f.len || f.flags) {
		if (f.len)
			ring_get(&s->tx, s->tx_sent, frame_payload(m), f.len);
		frame_put(m, &f);
	}
	turn_over(s, &f);
	return true;
}

/* The turn of a stream with much to say goes to the shared memory, and a frame here says where. False: not now. */
static bool put_shared(struct mux *m)
{
	struct mux_stream *s = node_of(m->ready.next, ready);
	struct wire_frame f = turn_of(s, WIRE_DATA_MAX), here = { .type = WIRE_SHARED };
	unsigned links = m->links;
	uint32_t seq = m->tx_seq;
	uint8_t *p;

	here.arg = FRAME_AROUND + f.len;
	if (f.len < SPREAD_MIN || !frame_fits(m) || !(p = shared_take(m, here.arg, &here.id)))
		return false;
	wire_header_pack(p, &f, m->link, seq + 1);
	ring_get(&s->tx, s->tx_sent, p + WIRE_HEADER, f.len);
	le32_put(p + WIRE_HEADER + f.len, wire_trailer(&f, m->link, seq + 1));
	frame_put(m, &here);
	m->tx_seq++; /* of the one there */
	turn_over(s, &f);
	return m->links == links; /* else a reset that found no room ended the conversation */
}

static bool acks_due(const struct mux *m)
{
	return m->credit_now || m->control.rx - m->control.rx_acked >= CONTROL_ACK;
}

bool mux_wants_output(const struct mux *m)
{
	bool more = m->table_due || m->control.sent < m->control.end || acks_due(m) || (m->settled && !list_empty(&m->ready));

	return m->part_at < m->parts || (m->carrier && (m->hello_due || (m->up && more)));
}

/* Takes as much as fits from what waits, when all that was taken before is written. */
static void output_take(struct mux *m)
{
	if (m->part_at < m->parts || !m->carrier)
		return;
	output_drop(m);
	if (m->hello_due)
		put_hello(m);
	if (!m->up)
		return;
	put_table(m);
	if (!m->table_due)
		put_control(m);
	/* Credits nobody waits for go along with whatever else is sent. */
	if (!m->table_due && (acks_due(m) || m->out_len || (m->settled && !list_empty(&m->ready))))
		put_credits(m);
	while (m->up && m->settled && m->control.sent == m->control.end && !list_empty(&m->ready) &&
	       (put_shared(m) || put_data(m)))
		;
	if (!m->up)
		put_hello(m); /* a reset that found no room ended the conversation */
}

size_t mux_output_parts(struct mux *m, struct iovec *v)
{
	output_take(m);
	memcpy(v, &m->part[m->part_at], (m->parts - m->part_at) * sizeof(*v));
	return m->parts - m->part_at;
}

/* Gathers what was not written at the end of m->out: the rings may change from here on. */
static void output_settle(struct mux *m)
{
	uint8_t *to = m->out + OUT_SIZE;

	for (unsigned i = m->parts; i-- > m->part_at;) {
		to -= m->part[i].iov_len;
		memmove(to, m->part[i].iov_base, m->part[i].iov_len);
	}
	m->part_at = 0;
	m->parts = 1;
	m->part[0] = (struct iovec){ to, (size_t)(m->out + OUT_SIZE - to) };
	m->spread = false;
}

void mux_output_done(struct mux *m, size_t n)
{
	while (m->part_at < m->parts) {
		struct iovec *v = &m->part[m->part_at];
		size_t part = n < v->iov_len ? n : v->iov_len;

		v->iov_base = (uint8_t *)v->iov_base + part;
		v->iov_len -= part;
		n -= part;
		if (v->iov_len)
			break;
		m->part_at++;
	}
	if (m->part_at < m->parts && m->spread)
		output_settle(m);
}
