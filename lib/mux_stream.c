/* mux_stream.c - the streams: table, buffers, what the program does with them. */
#include <stdlib.h>
#include <string.h>

#include "lib/mux_internal.h"

static struct mux_stream **bucket_of(const struct mux *m, uint32_t id)
{
	return &m->bucket[id >> 1 & (m->buckets - 1)];
}

struct mux_stream *stream_find(const struct mux *m, uint32_t id)
{
	struct mux_stream *s = *bucket_of(m, id);

	while (s && s->id != id)
		s = s->hash_next;
	return s;
}

/* Ids are handed out in turn, so chains stay short; without memory they just get longer. */
static void table_grow(struct mux *m)
{
	size_t old = m->buckets;
	struct mux_stream **from = m->bucket, *s, *next;

	if (m->count < old)
		return;
	m->bucket = calloc(old * 2, sizeof(*m->bucket));
	if (!m->bucket) {
		m->bucket = from;
		return;
	}
	m->buckets = old * 2;
	for (size_t i = 0; i < old; i++)
		for (s = from[i]; s; s = next) {
			next = s->hash_next;
			s->hash_next = *bucket_of(m, s->id);
			*bucket_of(m, s->id) = s;
		}
	free(from);
}

struct mux_stream *stream_new(struct mux *m, uint32_t id)
{
	struct mux_stream *s = m->count < MUX_STREAMS_MAX ? calloc(1, sizeof(*s)) : NULL;

	if (!s)
		return NULL;
	table_grow(m);
	s->mux = m;
	s->id = id;
	s->hash_next = *bucket_of(m, id);
	*bucket_of(m, id) = s;
	list_add(&m->streams, &s->all);
	m->count++;
	return s;
}

static int make_room(struct mux *m, struct ring *r, uint64_t base, uint64_t end, size_t need)
{
	if (need <= r->cap)
		return 0;
	if (need > RING_SMALL && need <= MUX_WINDOW)
		need = MUX_WINDOW;
	if (need != MUX_WINDOW || !m->spares)
		return ring_room(r, base, end, need, MUX_WINDOW);
	ring_take(r, base, end, &m->spare[--m->spares]);
	return 0;
}

/* A busy stream empties its buffers many times a second: then its memory is not given back to the system. */
static void drop_ring(struct mux *m, struct ring *r)
{
	if (r->cap == MUX_WINDOW && m->spares < SPARES) {
		m->spare[m->spares++] = *r;
		*r = (struct ring){ 0 };
	} else {
		ring_free(r);
	}
}

static void stream_detach(struct mux_stream *s)
{
	struct mux *m = s->mux;
	struct mux_stream **at = bucket_of(m, s->id);

	while (*at != s)
		at = &(*at)->hash_next;
	*at = s->hash_next;
	m->count--;
	if (m->table_at == &s->all)
		m->table_at = s->all.next;
	for (struct cursor *c = m->cursors; c; c = c->outer)
		if (c->at == &s->all)
			c->at = s->all.next;
	list_del(&s->all);
	list_del(&s->ready);
	list_del(&s->credit);
	ring_free(&s->tx);
	ring_free(&s->rx);
	while (m->spares)
		ring_free(&m->spare[--m->spares]);
}

void stream_unlink(struct mux_stream *s)
{
	struct mux *m = s->mux;

	stream_detach(s);
	s->state = STREAM_GONE;
	if (m->depth)
		list_add(&m->dead, &s->all);
	else
		free(s);
}

void stream_fail(struct mux_stream *s, enum mux_reset_code code)
{
	struct mux *m = s->mux;

	stream_unlink(s);
	m->ops.reset(m->ctx, s, code);
}

void stream_fail_all(struct mux *m, enum mux_reset_code code)
{
	struct node doomed;
	struct mux_stream *s;

	list_init(&doomed);
	while (!list_empty(&m->streams)) {
		s = node_of(m->streams.next, all);
		stream_detach(s);
		s->state = STREAM_DOOMED;
		list_add(&doomed, &s->all);
	}
	/* A callback may open new streams, and give up others of these. */
	while (!list_empty(&doomed)) {
		s = node_of(doomed.next, all);
		list_del(&s->all);
		list_add(&m->dead, &s->all);
		if (s->state == STREAM_DOOMED) {
			s->state = STREAM_GONE;
			m->ops.reset(m->ctx, s, code);
		}
	}
}

void stream_close(struct mux_stream *s)
{
	struct mux *m = s->mux;

	stream_unlink(s);
	m->ops.closed(m->ctx, s);
}

void stream_ready(struct mux_stream *s)
{
	if (!node_listed(&s->ready) && s->tx_sent < s->tx_end + s->fin)
		list_add(&s->mux->ready, &s->ready);
}

bool stream_tx_done(const struct mux_stream *s)
{
	return s->fin && s->tx_base == s->tx_end + 1;
}

void stream_tell_writable(struct mux_stream *s)
{
	if (!s->want || s->fin || s->tx_end - s->tx_base >= MUX_WINDOW)
		return;
	s->want = false;
	s->mux->ops.writable(s->mux->ctx, s);
}

static void feed_starved(void *ctx, struct mux_stream *s)
{
	(void)ctx;
	stream_tell_writable(s);
}

void stream_feed_starved(struct mux *m)
{
	m->starved = false;
	mux_each(m, feed_starved, NULL);
}

/* --- what the peer says --- */

/* Queues a CREDIT; it goes out at once when the peer may be waiting for it, else along with other output. */
static void owe_credit(struct mux_stream *s)
{
	uint64_t owed = s->rx_consumed - s->rx_credited;

	if (!owed)
		return;
	if (!node_listed(&s->credit))
		list_add(&s->mux->credits, &s->credit);
	if (mux_at_end(s) || owed >= MUX_WINDOW / 2 || (owed >= CREDIT_SMALL && s->rx_consumed == s->rx_received))
		s->mux->credit_now = true;
}

static void consumed(struct mux_stream *s, size_t n)
{
	s->rx_consumed += n;
	if (s->rx_consumed + s->rx_fin == s->rx_received) {
		s->rx_consumed = s->rx_received;
		drop_ring(s->mux, &s->rx);
	}
	owe_credit(s);
}

static void violated(struct mux_stream *s, enum mux_reset_code code)
{
	control_reset(s->mux, s->id, code);
	stream_fail(s, code);
}

void stream_data(struct mux *m, const struct wire_frame *f, const uint8_t *p)
{
	struct mux_stream *s = stream_find(m, f->id);
	size_t held;

	if (!s)
		return; /* gone here, the peer will hear of it */
	held = (size_t)(s->rx_received - s->rx_consumed);
	if (!m->settled || s->rx_fin || f->arg != (uint32_t)s->rx_received || held + f->len > MUX_WINDOW ||
	    (!f->len && !f->flags)) {
		violated(s, MUX_RESET_PROTOCOL);
		return;
	}
	if (make_room(m, &s->rx, s->rx_consumed, s->rx_received, held + f->len) < 0) {
		violated(s, MUX_RESET_LIMIT);
		return;
	}
	ring_put(&s->rx, s->rx_received, p, f->len);
	s->rx_received += f->len;
	if (f->flags & WIRE_FIN) {
		s->rx_fin = true;
		s->rx_received++;
		consumed(s, 0);
	}
	m->ops.readable(m->ctx, s);
}

void stream_advance(struct mux_stream *s, uint64_t offset)
{
	s->tx_base = offset;
	if (s->tx_base >= s->tx_end)
		drop_ring(s->mux, &s->tx);
}

void stream_credit(struct mux *m, const struct wire_frame *f)
{
	struct mux_stream *s;

	if (!f->id) {
		control_ack(&m->control, m->control.base + (uint32_t)(f->arg - (uint32_t)m->control.base));
		return;
	}
	s = stream_find(m, f->id);
	if (!s)
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

/* --- what the program does --- */

void mux_stream_set(struct mux_stream *s, void *ctx)
{
	s->ctx = ctx;
}

void *mux_stream_get(const struct mux_stream *s)
{
	return s->ctx;
}

uint32_t mux_stream_id(const struct mux_stream *s)
{
	return s->id;
}

size_t mux_room(struct mux_stream *s)
{
	size_t room;

	if (s->state != STREAM_LIVE || s->fin)
		return 0;
	room = MUX_WINDOW - (size_t)(s->tx_end - s->tx_base);
	s->want |= !room;
	return room;
}

uint8_t *mux_tx_reserve(struct mux_stream *s, size_t *n)
{
	size_t room = mux_room(s), wanted = *n, part;
	uint8_t *p;

	if (wanted > room) {
		wanted = room;
		s->want = true;
	}
	*n = 0;
	if (!wanted)
		return NULL;
	if (make_room(s->mux, &s->tx, s->tx_base, s->tx_end, (size_t)(s->tx_end - s->tx_base) + wanted) < 0) {
		s->want = s->mux->starved = true;
		return NULL;
	}
	p = ring_at(&s->tx, s->tx_end, &part);
	*n = part < wanted ? part : wanted;
	return p;
}

void mux_tx_commit(struct mux_stream *s, size_t n)
{
	if (s->state != STREAM_LIVE)
		return;
	s->tx_end += n;
	if (s->tx_base == s->tx_end)
		drop_ring(s->mux, &s->tx);
	stream_ready(s);
}

size_t mux_write(struct mux_stream *s, const void *p, size_t n)
{
	const uint8_t *from = p;
	size_t done = 0, part;
	uint8_t *to;

	while (done < n) {
		part = n - done;
		to = mux_tx_reserve(s, &part);
		if (!to)
			break;
		memcpy(to, from + done, part);
		mux_tx_commit(s, part);
		done += part;
	}
	return done;
}

void mux_finish(struct mux_stream *s)
{
	if (s->state != STREAM_LIVE)
		return;
	s->fin = true;
	stream_ready(s);
}

bool mux_is_finished(const struct mux_stream *s)
{
	return s->fin;
}

const uint8_t *mux_peek(struct mux_stream *s, size_t *n)
{
	size_t held, part;
	const uint8_t *p;

	*n = 0;
	if (s->state != STREAM_LIVE || s->rx_consumed == s->rx_received)
		return NULL;
	held = (size_t)(s->rx_received - s->rx_consumed) - s->rx_fin;
	p = ring_at(&s->rx, s->rx_consumed, &part);
	*n = part < held ? part : held;
	return p;
}

void mux_consume(struct mux_stream *s, size_t n)
{
	if (s->state == STREAM_LIVE && n)
		consumed(s, n);
}

bool mux_at_end(const struct mux_stream *s)
{
	return s->rx_fin && s->rx_consumed == s->rx_received;
}

void mux_reset(struct mux_stream *s, enum mux_reset_code code)
{
	struct mux *m = s->mux;
	uint32_t id = s->id;

	if (s->state != STREAM_LIVE) {
		s->state = STREAM_GONE;
		return;
	}
	stream_unlink(s);
	control_reset(m, id, code);
}

void mux_each(struct mux *m, void (*fn)(void *ctx, struct mux_stream *s), void *ctx)
{
	struct cursor c = { m->streams.next, m->cursors };

	m->cursors = &c;
	mux_enter(m);
	while (c.at != &m->streams) {
		struct mux_stream *s = node_of(c.at, all);

		c.at = c.at->next;
		fn(ctx, s);
	}
	m->cursors = c.outer;
	mux_leave(m);
}

size_t mux_count(const struct mux *m)
{
	return m->count;
}
