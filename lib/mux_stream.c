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

static void stream_detach(struct mux_stream *s)
{
	struct mux *m = s->mux;
	struct mux_stream **at = bucket_of(m, s->id);

	while (*at != s)
		at = &(*at)->hash_next;
	*at = s->hash_next;
	m->count--;
	m->leaving -= s->left;
	if (m->table_at == &s->all)
		m->table_at = s->all.next;
	for (struct cursor *c = m->cursors; c; c = c->outer)
		if (c->at == &s->all)
			c->at = s->all.next;
	list_del(&s->all);
	list_del(&s->ready);
	list_del(&s->credit);
	memory_free(s);
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
	bool owned = s->state != STREAM_LEAVING;

	stream_unlink(s);
	if (owned)
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
		s->state = s->state == STREAM_LEAVING ? STREAM_GONE : STREAM_DOOMED;
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
	bool owned = s->state != STREAM_LEAVING;

	stream_unlink(s);
	if (owned)
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

bool stream_leave(struct mux_stream *s)
{
	struct mux *m = s->mux;
	uint32_t id = s->id, code = s->code;

	if (s->state != STREAM_LEAVING || s->tx_sent < s->tx_end + s->fin)
		return false;
	stream_unlink(s);
	control_reset(m, id, code);
	return true;
}

/* Not of each small room: a window that is filled in small pieces wakes the peer for each of them. */
void stream_tell_writable(struct mux_stream *s)
{
	if (!s->want || s->fin || s->tx_end - s->tx_base > memory_window(s->mux) / 2)
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
	stream_each(m, feed_starved, NULL);
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

bool mux_is_heard(const struct mux_stream *s)
{
	return s->open_at <= s->mux->control.base;
}

static size_t room_within(struct mux_stream *s, size_t window)
{
	size_t held = (size_t)(s->tx_end - s->tx_base), room;

	if (s->state != STREAM_LIVE || s->fin)
		return 0;
	room = held < window ? window - held : 0;
	s->want |= !room;
	return room;
}

size_t mux_room(struct mux_stream *s)
{
	return room_within(s, MUX_WINDOW);
}

bool mux_room_for(struct mux_stream *s, size_t n)
{
	if (mux_room(s) >= n)
		return true;
	s->want = true;
	return false;
}

static uint8_t *reserve(struct mux_stream *s, size_t *n, size_t window)
{
	size_t room = room_within(s, window), wanted = *n, part;
	uint8_t *p;

	if (wanted > room) {
		wanted = room;
		s->want = true;
	}
	*n = 0;
	if (!wanted)
		return NULL;
	if (memory_tx(s, (size_t)(s->tx_end - s->tx_base) + wanted) < 0) {
		s->want = s->mux->starved = true;
		return NULL;
	}
	p = ring_at(&s->tx, s->tx_end, &part);
	*n = part < wanted ? part : wanted;
	return p;
}

uint8_t *mux_tx_reserve(struct mux_stream *s, size_t *n)
{
	return reserve(s, n, memory_window(s->mux));
}

void mux_tx_commit(struct mux_stream *s, size_t n)
{
	if (s->state != STREAM_LIVE)
		return;
	s->tx_end += n;
	if (s->tx_base == s->tx_end)
		memory_tx_empty(s);
	else
		memory_tx_settle(s);
	stream_ready(s);
}

size_t mux_write(struct mux_stream *s, const void *p, size_t n)
{
	const uint8_t *from = p;
	size_t done = 0, part;
	uint8_t *to;

	while (done < n) {
		part = n - done;
		to = reserve(s, &part, MUX_WINDOW);
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
	if (s->direct) {
		*n = held;
		return s->direct + (s->rx_consumed - s->direct_at);
	}
	p = ring_at(&s->rx, s->rx_consumed, &part);
	*n = part < held ? part : held;
	return p;
}

void mux_consume(struct mux_stream *s, size_t n)
{
	if (s->state == STREAM_LIVE && n)
		stream_consumed(s, n);
}

void mux_drain(struct mux_stream *s)
{
	size_t n;

	while (mux_peek(s, &n) && n)
		mux_consume(s, n);
}

bool mux_copy(const struct mux_stream *s, void *p, size_t n)
{
	/* Where the end was consumed too, nothing is unread. */
	if (s->state != STREAM_LIVE || s->rx_received - s->rx_consumed < n + s->rx_fin)
		return false;
	if (s->direct)
		memcpy(p, s->direct + (s->rx_consumed - s->direct_at), n);
	else if (n)
		ring_get(&s->rx, s->rx_consumed, p, n);
	return true;
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

void mux_abort(struct mux_stream *s, enum mux_reset_code code)
{
	struct mux *m = s->mux;
	uint64_t said = m->up && m->settled ? s->tx_sent : s->tx_base;

	/* To a peer that stands still there may come and go more clients than can be kept for it. */
	if (s->state != STREAM_LIVE || said == s->tx_end + s->fin || m->leaving + s->tx.cap > LEAVING_MAX) {
		mux_reset(s, code);
		return;
	}
	s->state = STREAM_LEAVING;
	s->left = (uint32_t)s->tx.cap;
	m->leaving += s->left;
	s->code = (uint8_t)code;
	s->want = false;
	list_del(&s->credit);
	ring_free(&s->rx);
}

void stream_each(struct mux *m, void (*fn)(void *ctx, struct mux_stream *s), void *ctx)
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

struct visit {
	void (*fn)(void *ctx, struct mux_stream *s);
	void *ctx;
};

static void visit_owned(void *ctx, struct mux_stream *s)
{
	const struct visit *v = ctx;

	if (s->state != STREAM_LEAVING)
		v->fn(v->ctx, s);
}

void mux_each(struct mux *m, void (*fn)(void *ctx, struct mux_stream *s), void *ctx)
{
	struct visit v = { fn, ctx };

	stream_each(m, visit_owned, &v);
}

size_t mux_count(const struct mux *m)
{
	return m->count;
}
