/* mux_pair.h - two engines joined by two byte queues, and a small program on each that checks every byte.
 *
 * The byte at an offset of a stream follows from the stream's key (its open request) and the direction, so a
 * receiver needs no memory of what was sent. Messages are counters. Used by test_mux and test_mux_relink.
 */
#ifndef TESTS_MUX_PAIR_H
#define TESTS_MUX_PAIR_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/buf.h"
#include "tests/unit/feed.h"

enum { MESSAGE_COUNT = MUX_MESSAGE_FIRST, MESSAGE_BAD };

/* The program's end of a stream. */
struct flow {
	struct end *end;
	struct mux_stream *s;
	struct flow *next;
	uint64_t key;
	bool opener;
	uint64_t sent, goal; /* bytes written, bytes to write before the end */
	uint64_t got;
	bool hold; /* does not read */
	bool keep; /* does not finish, there may be more */
	unsigned messages_before; /* that had arrived with its first byte */
};

struct end {
	struct pair *pair;
	enum mux_side side;
	uint64_t epoch;
	struct mux *m;
	struct flow *flows;
	struct buf wire; /* what left this end and has not arrived */
	struct feed feed; /* what has arrived */
	bool up, resumed;
	unsigned ups, fresh, downs, resets[8], closed, opened, messages;
	uint32_t next_message, expected_message;
	bool refuse;     /* every stream the peer opens */
	bool bad_on_up;  /* says something malformed after each fresh link-up */
	bool chaos;      /* callbacks give up streams and open others as they like */
};

struct pair {
	struct end end[2];
	uint64_t memory[512 * 1024 / sizeof(uint64_t)];
	bool share; /* both ends have the memory */
	uint64_t seed;
	uint64_t goal_max; /* bytes a flow sends at most */
	bool keep;         /* new flows send nothing until flow_more() */
};

static inline uint64_t pair_random(struct pair *p)
{
	uint64_t z = p->seed += 0x9e3779b97f4a7c15u;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return z ^ z >> 31;
}
static inline uint64_t pair_below(struct pair *p, uint64_t n) { return n ? pair_random(p) % n : 0; }

static inline uint8_t flow_byte(uint64_t key, bool from_opener, uint64_t at)
{
	uint64_t h = (key ^ at >> 3 ^ (from_opener ? 0x5555 : 0)) * 0x9e3779b97f4a7c15u;

	return (uint8_t)(h >> (8 + 6 * (at & 7)));
}

static inline struct flow *flow_new(struct end *e, uint64_t key, bool opener)
{
	struct flow *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	f->end = e;
	f->key = key;
	f->opener = opener;
	f->keep = e->pair->keep;
	f->goal = f->keep ? 0 : pair_below(e->pair, e->pair->goal_max + 1);
	f->next = e->flows;
	e->flows = f;
	return f;
}

static inline void flow_free(struct flow *f)
{
	struct flow **at = &f->end->flows;

	while (*at != f)
		at = &(*at)->next;
	*at = f->next;
	free(f);
}

static inline void flow_send(struct flow *f)
{
	uint8_t chunk[5000];
	size_t n, done;

	while (f->sent < f->goal) {
		n = f->goal - f->sent < sizeof(chunk) ? (size_t)(f->goal - f->sent) : sizeof(chunk);
		for (size_t i = 0; i < n; i++)
			chunk[i] = flow_byte(f->key, f->opener, f->sent + i);
		done = mux_write(f->s, chunk, n);
		f->sent += done;
		if (done < n)
			return;
	}
	if (!f->keep && !mux_is_finished(f->s))
		mux_finish(f->s);
}

static inline void flow_more(struct flow *f, uint64_t n)
{
	f->goal += n;
	flow_send(f);
}

static inline void flow_end(struct flow *f)
{
	f->keep = false;
	flow_send(f);
}

static inline void flow_receive(struct flow *f)
{
	const uint8_t *p;
	size_t n;

	while (!f->hold && (p = mux_peek(f->s, &n))) {
		for (size_t i = 0; i < n; i++)
			if (p[i] != flow_byte(f->key, !f->opener, f->got + i))
				fail_msg("wrong byte at %llu of stream %u", (unsigned long long)(f->got + i),
					 mux_stream_id(f->s));
		if (!f->got)
			f->messages_before = f->end->messages;
		n = n > 3 ? n / 3 : n; /* in steps, so that what is left is found where it should be */
		f->got += n;
		mux_consume(f->s, n);
	}
}

static inline struct flow *end_open(struct end *e);

/* True when *f was given up. */
static inline bool chaos(struct end *e, struct flow *f)
{
	struct flow *other = e->flows;

	if (!e->chaos)
		return false;
	if (!pair_below(e->pair, 6) && mux_count(e->m) < 60)
		end_open(e);
	for (uint64_t k = pair_below(e->pair, 8); other && k; k--)
		other = other->next;
	if (!other || pair_below(e->pair, 6))
		return false;
	(pair_below(e->pair, 2) ? mux_reset : mux_abort)(other->s, MUX_RESET_ABORT);
	flow_free(other);
	return other == f;
}

static inline void on_up(void *ctx, bool resumed)
{
	struct end *e = ctx;

	assert_false(e->up);
	assert_true(mux_is_up(e->m));
	e->up = true;
	e->resumed = resumed;
	e->ups++;
	if (!resumed) {
		e->fresh++;
		e->next_message = e->expected_message = 0;
		if (!e->chaos)
			assert_null(e->flows);
		if (e->bad_on_up)
			assert_int_equal(mux_send(e->m, MESSAGE_BAD, NULL, 0), 0);
	}
}

static inline void on_down(void *ctx)
{
	struct end *e = ctx;

	assert_true(e->up);
	e->up = false;
	e->downs++;
	chaos(e, NULL);
}

static inline int on_message(void *ctx, unsigned type, const uint8_t *body, size_t len)
{
	struct end *e = ctx;
	uint32_t v;

	if (type != MESSAGE_COUNT)
		return -1;
	assert_true(len >= sizeof(v));
	memcpy(&v, body, sizeof(v));
	assert_int_equal(v, e->expected_message);
	for (size_t i = sizeof(v); i < len; i++)
		assert_int_equal(body[i], (uint8_t)(v + i));
	e->expected_message++;
	e->messages++;
	chaos(e, NULL);
	return 0;
}

static inline void on_open(void *ctx, struct mux_stream *s, const uint8_t *request, size_t len)
{
	struct end *e = ctx;
	struct flow *f;
	uint64_t key;

	assert_int_equal(len, sizeof(key));
	memcpy(&key, request, sizeof(key));
	e->opened++;
	if (e->refuse) {
		mux_reset(s, MUX_RESET_REFUSED);
		return;
	}
	f = flow_new(e, key, false);
	f->s = s;
	mux_stream_set(s, f);
	if (!chaos(e, f))
		flow_send(f);
}

static inline void on_readable(void *ctx, struct mux_stream *s)
{
	if (!chaos(ctx, mux_stream_get(s)))
		flow_receive(mux_stream_get(s));
}

static inline void on_writable(void *ctx, struct mux_stream *s)
{
	assert_true(mux_room(s) > 0);
	if (!chaos(ctx, mux_stream_get(s)))
		flow_send(mux_stream_get(s));
}

static inline void on_reset(void *ctx, struct mux_stream *s, enum mux_reset_code code)
{
	struct end *e = ctx;

	e->resets[code]++;
	flow_free(mux_stream_get(s));
	chaos(e, NULL);
}

static inline void on_closed(void *ctx, struct mux_stream *s)
{
	struct end *e = ctx;
	struct flow *f = mux_stream_get(s);

	assert_true(mux_is_finished(s));
	assert_true(mux_at_end(s));
	assert_int_equal(f->sent, f->goal);
	e->closed++;
	flow_free(f);
	chaos(e, NULL);
}

static inline void end_start(struct end *e)
{
	static const struct mux_ops ops = { on_up, on_down, on_message, on_open, on_readable, on_writable, on_reset,
					    on_closed };

	e->epoch = pair_random(e->pair) | 1;
	e->m = mux_new(e->side, e->epoch, &ops, e);
	assert_non_null(e->m);
	if (e->pair->share)
		mux_share(e->m, e->pair->memory, sizeof(e->pair->memory));
	e->feed.len = 0;
	e->up = false;
	e->next_message = e->expected_message = 0;
}

static inline void end_stop(struct end *e)
{
	mux_free(e->m);
	e->m = NULL;
	while (e->flows)
		flow_free(e->flows);
}

static inline void pair_init(struct pair *p, uint64_t seed)
{
	memset(p, 0, sizeof(*p));
	p->seed = seed;
	p->goal_max = 100000;
	for (int i = 0; i < 2; i++) {
		p->end[i].pair = p;
		p->end[i].side = i ? MUX_GUEST : MUX_HOST;
		p->end[i].wire.max = 64 << 20;
		end_start(&p->end[i]);
	}
}

/* Before they are connected. */
static inline void pair_share(struct pair *p)
{
	p->share = true;
	for (int i = 0; i < 2; i++)
		mux_share(p->end[i].m, p->memory, sizeof(p->memory));
}

static inline void pair_fini(struct pair *p)
{
	for (int i = 0; i < 2; i++) {
		end_stop(&p->end[i]);
		buf_free(&p->end[i].wire);
	}
}

static inline struct flow *end_open(struct end *e)
{
	uint64_t key = pair_random(e->pair);
	struct flow *f = flow_new(e, key, true);

	f->s = mux_open(e->m, &key, sizeof(key), f);
	if (!f->s) {
		flow_free(f);
		return NULL;
	}
	flow_send(f);
	return f;
}

/* len: of the body, at least 4 */
static inline void end_say(struct end *e, size_t len)
{
	uint8_t *body = malloc(len);
	uint32_t v = e->next_message;

	assert_non_null(body);
	memcpy(body, &v, sizeof(v));
	for (size_t i = sizeof(v); i < len; i++)
		body[i] = (uint8_t)(v + i);
	if (mux_send(e->m, MESSAGE_COUNT, body, len) == 0)
		e->next_message++;
	free(body);
}

/* Moves at most n bytes from the engine to the queue. */
static inline size_t end_flush(struct end *e, size_t n)
{
	struct iovec v[MUX_PARTS];
	size_t parts = mux_output_parts(e->m, v), got = 0;

	assert_in_range(parts, 0, MUX_PARTS);
	for (size_t i = 0; i < parts && got < n; i++) {
		size_t part = v[i].iov_len < n - got ? v[i].iov_len : n - got;

		assert_int_equal(buf_add(&e->wire, v[i].iov_base, part), 0);
		got += part;
	}
	mux_output_done(e->m, got);
	return got;
}

/* At most n bytes that came from the other end arrive. */
static inline size_t end_arrive(struct end *e, size_t n)
{
	struct buf *wire = &e->pair->end[e->side == MUX_HOST].wire;

	if (n > wire->len)
		n = wire->len;
	if (!n)
		return 0;
	feed(&e->feed, e->m, (const uint8_t *)wire->data, n);
	buf_drop_front(wire, n);
	return n;
}

/* Runs until nothing moves any more; returns the number of turns. */
static inline unsigned pair_settle(struct pair *p)
{
	unsigned turns = 0;
	size_t moved;

	do {
		moved = 0;
		for (int i = 0; i < 2; i++) {
			while (end_flush(&p->end[i], SIZE_MAX))
				moved++;
			moved += end_arrive(&p->end[!i], SIZE_MAX);
		}
		assert_true(++turns < 100000);
	} while (moved);
	return turns;
}

static inline void pair_connect(struct pair *p)
{
	mux_carrier_open(p->end[0].m);
	mux_carrier_open(p->end[1].m);
	pair_settle(p);
	assert_true(p->end[0].up && p->end[1].up);
}

#endif
