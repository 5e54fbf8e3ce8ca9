/* mux_output.c - what goes to the carrier next.
 *
 * Order: hello, table of streams, control, credits, stream bytes. That control comes first is the promise of
 * mux.h: a message is on its way before any stream byte written after it.
 */
#include <string.h>

#include "lib/le.h"
#include "lib/mux_internal.h"

static bool frame_fits(const struct mux *m)
{
	return OUT_SIZE - m->out_len >= WIRE_FRAME_MAX;
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
	m->out_len += WIRE_HEADER + f->len + WIRE_TRAILER;
}

static void put_hello(struct mux *m)
{
	struct wire_hello h = m->mine;

	if (m->preamble_due) {
		memset(m->out + m->out_len, 0, WIRE_PREAMBLE);
		m->out_len += WIRE_PREAMBLE;
	}
	h.echo = m->peer;
	h.resume = m->peer && m->verdict;
	wire_hello_pack(m->out + m->out_len, &h);
	m->out_len += WIRE_HELLO;
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

/* One turn of the first stream in line, which then goes to the end of it. */
static void put_data(struct mux *m)
{
	struct mux_stream *s = node_of(m->ready.next, ready);
	struct wire_frame f = { .type = WIRE_DATA, .id = s->id, .arg = (uint32_t)s->tx_sent };

	list_del(&s->ready);
	if (s->tx_sent < s->tx_end) {
		f.len = s->tx_end - s->tx_sent < MUX_FRAME_MAX ? (uint32_t)(s->tx_end - s->tx_sent) : MUX_FRAME_MAX;
		ring_get(&s->tx, s->tx_sent, frame_payload(m), f.len);
		s->tx_sent += f.len;
	}
	if (s->fin && s->tx_sent == s->tx_end) {
		f.flags = WIRE_FIN;
		s->tx_sent++;
	}
	if (f.len || f.flags)
		frame_put(m, &f);
	if (s->tx_high < s->tx_sent)
		s->tx_high = s->tx_sent;
	stream_ready(s);
}

static bool acks_due(const struct mux *m)
{
	return m->credit_now || m->control.rx - m->control.rx_acked >= CONTROL_ACK;
}

size_t mux_output(struct mux *m, const uint8_t **p)
{
	*p = m->out + m->out_at;
	if (m->out_at < m->out_len || !m->carrier)
		return m->out_len - m->out_at;
	m->out_at = m->out_len = 0;
	*p = m->out;
	if (m->hello_due)
		put_hello(m);
	if (!m->up)
		return m->out_len;
	put_table(m);
	if (!m->table_due)
		put_control(m);
	/* Credits nobody waits for go along with whatever else is sent. */
	if (!m->table_due && (acks_due(m) || m->out_len || (m->settled && !list_empty(&m->ready))))
		put_credits(m);
	while (m->settled && m->control.sent == m->control.end && !list_empty(&m->ready) && frame_fits(m))
		put_data(m);
	return m->out_len;
}

void mux_output_done(struct mux *m, size_t n)
{
	m->out_at += n < m->out_len - m->out_at ? n : m->out_len - m->out_at;
}
