/* The engine over a carrier that works: streams, messages, order, bounds of what the program may ask. */
#include "tests/unit/mux_pair.h"

#include "lib/mux_internal.h"

static void pair_up(struct pair *p, uint64_t seed)
{
	pair_init(p, seed);
	pair_connect(p);
}

/* A stream opened by the host on which nobody has said anything yet. */
static struct flow *open_quiet(struct pair *p)
{
	struct flow *f;

	p->keep = true;
	f = end_open(&p->end[0]);
	assert_non_null(f);
	pair_settle(p);
	return f;
}

static void test_connects(void **state)
{
	struct pair p;

	(void)state;
	pair_init(&p, 1);
	assert_false(mux_is_up(p.end[0].m));
	pair_connect(&p);
	assert_false(p.end[0].resumed || p.end[1].resumed);
	assert_int_equal(mux_peer_epoch(p.end[0].m), p.end[1].epoch);
	assert_int_equal(mux_peer_epoch(p.end[1].m), p.end[0].epoch);
	assert_int_equal(p.end[0].wire.len + p.end[1].wire.len, 0);
	pair_fini(&p);
}

static void test_streams_both_ways(void **state)
{
	struct pair p;

	(void)state;
	pair_up(&p, 2);
	p.goal_max = 3000000;
	for (int i = 0; i < 40; i++)
		assert_non_null(end_open(&p.end[i & 1]));
	pair_settle(&p);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(p.end[i].closed, 40);
		assert_int_equal(p.end[i].opened, 20);
		assert_int_equal(mux_count(p.end[i].m), 0);
		assert_null(p.end[i].flows);
	}
	pair_fini(&p);
}

static void test_an_opening_is_known_to_be_heard_when_asked_for(void **state)
{
	struct pair p;
	struct flow *f;

	(void)state;
	pair_up(&p, 21);
	f = open_quiet(&p);
	/* The peer has it, but says so only along with other things. */
	assert_int_equal(p.end[1].opened, 1);
	assert_false(mux_is_heard(f->s));
	assert_int_equal(mux_ping(p.end[0].m), 0);
	pair_settle(&p);
	assert_true(mux_is_heard(f->s));
	pair_fini(&p);
}

/* Who keeps what is not whole gives it again with more behind it. */
static void test_taken_in_small_steps(void **state)
{
	struct pair p;
	struct flow *f;
	struct buf held = BUF_INIT(1 << 20);
	size_t used;

	(void)state;
	pair_up(&p, 5);
	f = open_quiet(&p);
	flow_more(f, 100000);
	while (end_flush(&p.end[0], SIZE_MAX))
		;
	for (size_t at = 0, step = 1; at < p.end[0].wire.len; at += step, step = step % 3000 + 7) {
		if (step > p.end[0].wire.len - at)
			step = p.end[0].wire.len - at;
		assert_int_equal(buf_add(&held, p.end[0].wire.data + at, step), 0);
		used = mux_feed(p.end[1].m, (uint8_t *)held.data, held.len);
		buf_drop_front(&held, used);
		assert_true(held.len < MUX_UNIT_MAX);
	}
	assert_int_equal(held.len, 0);
	assert_int_equal(p.end[1].flows->got, 100000);
	buf_drop_front(&p.end[0].wire, p.end[0].wire.len);
	flow_end(f);
	pair_settle(&p);
	buf_free(&held);
	pair_fini(&p);
}

/* What stays unwritten of pieces lying in a stream's memory is there when that stream and its memory are gone. */
static void test_unwritten_parts_outlive_their_stream(void **state)
{
	struct pair p;
	struct flow *f;
	struct iovec v[MUX_PARTS];
	struct buf all = BUF_INIT(1 << 20);
	const uint8_t *rest;

	(void)state;
	pair_up(&p, 4);
	f = open_quiet(&p);
	flow_more(f, 10000);
	for (size_t i = 0, parts = mux_output_parts(p.end[0].m, v); i < parts; i++)
		assert_int_equal(buf_add(&all, v[i].iov_base, v[i].iov_len), 0);
	assert_in_range(all.len, 10000, 10100);
	assert_memory_equal(v[1].iov_base, first_part(p.end[0].m, &rest) ? (char *)f->s->tx.data : NULL, 10000);
	mux_output_done(p.end[0].m, 3000);
	mux_reset(f->s, MUX_RESET_ABORT);
	flow_free(f);
	for (int i = 0; i < 20; i++) /* in the memory that has become free */
		flow_more(end_open(&p.end[0]), 10000);
	assert_int_equal(first_part(p.end[0].m, &rest), all.len - 3000);
	assert_memory_equal(rest, all.data + 3000, all.len - 3000);
	pair_settle(&p);
	buf_free(&all);
	pair_fini(&p);
}

static void test_messages(void **state)
{
	struct pair p;

	(void)state;
	pair_up(&p, 3);
	for (size_t len = 4; len <= MUX_MESSAGE_MAX; len = len * 2 - 1)
		end_say(&p.end[len & 1], len);
	end_say(&p.end[0], MUX_MESSAGE_MAX);
	pair_settle(&p);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(p.end[i].messages, p.end[!i].next_message);
		assert_true(p.end[i].messages > 0);
	}
	pair_fini(&p);
}

static void test_half_close(void **state)
{
	struct pair p;
	struct flow *f, *back;
	size_t n;

	(void)state;
	pair_up(&p, 4);
	f = open_quiet(&p);
	back = p.end[1].flows;
	flow_end(f);
	assert_true(mux_is_finished(f->s));
	assert_int_equal(mux_write(f->s, "x", 1), 0);
	assert_int_equal(mux_room(f->s), 0);
	assert_null(mux_peek(f->s, &n));
	pair_settle(&p);
	assert_true(mux_at_end(back->s));
	assert_false(mux_at_end(f->s));
	assert_int_equal(p.end[0].closed + p.end[1].closed, 0);
	flow_more(back, 1000000);
	pair_settle(&p);
	assert_int_equal(f->got, 1000000);
	flow_end(back);
	pair_settle(&p);
	assert_int_equal(p.end[0].closed, 1);
	assert_int_equal(p.end[1].closed, 1);
	pair_fini(&p);
}

/* The end comes with unread bytes before it: it is seen only behind them. */
static void test_end_behind_unread_bytes(void **state)
{
	struct pair p;
	struct flow *f, *back;

	(void)state;
	pair_up(&p, 5);
	f = open_quiet(&p);
	back = p.end[1].flows;
	back->hold = true;
	flow_more(f, 1000);
	flow_end(f);
	flow_end(back);
	pair_settle(&p);
	assert_false(mux_at_end(back->s));
	assert_int_equal(p.end[0].closed + p.end[1].closed, 0);
	back->hold = false;
	flow_receive(back);
	assert_true(mux_at_end(back->s));
	pair_settle(&p);
	assert_int_equal(p.end[0].closed, 1);
	assert_int_equal(p.end[1].closed, 1);
	pair_fini(&p);
}

static void test_reset_codes(void **state)
{
	(void)state;
	for (int code = MUX_RESET_ABORT; code <= MUX_RESET_PROTOCOL; code++) {
		struct pair p;

		pair_up(&p, 6);
		open_quiet(&p);
		mux_reset(p.end[1].flows->s, (enum mux_reset_code)code);
		flow_free(p.end[1].flows);
		assert_int_equal(mux_count(p.end[1].m), 0);
		pair_settle(&p);
		assert_int_equal(p.end[0].resets[code], 1);
		assert_int_equal(mux_count(p.end[0].m), 0);
		pair_fini(&p);
	}
}

static void test_refusal(void **state)
{
	struct pair p;

	(void)state;
	pair_up(&p, 7);
	p.end[1].refuse = true;
	for (int i = 0; i < 10; i++)
		assert_non_null(end_open(&p.end[0]));
	pair_settle(&p);
	assert_int_equal(p.end[0].resets[MUX_RESET_REFUSED], 10);
	assert_int_equal(mux_count(p.end[0].m) + mux_count(p.end[1].m), 0);
	pair_fini(&p);
}

static void test_slow_stream_blocks_no_other(void **state)
{
	struct pair p;
	struct flow *slow, *fast;

	(void)state;
	pair_up(&p, 8);
	slow = open_quiet(&p);
	p.end[1].flows->hold = true;
	flow_more(slow, 2000000);
	pair_settle(&p);
	assert_int_equal(slow->sent, MUX_WINDOW);
	assert_int_equal(mux_room(slow->s), 0);
	fast = open_quiet(&p);
	flow_more(fast, 5000000);
	pair_settle(&p);
	assert_int_equal(p.end[1].flows->got, 5000000);
	p.end[1].flows->next->hold = false;
	flow_receive(p.end[1].flows->next);
	pair_settle(&p);
	assert_int_equal(p.end[1].flows->next->got, 2000000);
	pair_fini(&p);
}

/* A reader that never catches up tells at half a window. */
static void test_credit_at_half_a_window(void **state)
{
	struct pair p;
	struct flow *f;
	struct mux_stream *s;
	size_t n, left = MUX_WINDOW / 2;

	(void)state;
	pair_up(&p, 16);
	f = open_quiet(&p);
	s = p.end[1].flows->s;
	p.end[1].flows->hold = true;
	flow_more(f, 2 * MUX_WINDOW);
	pair_settle(&p);
	for (; left > 1; left -= n) {
		mux_peek(s, &n);
		n = n < left - 1 ? n : left - 1;
		mux_consume(s, n);
	}
	pair_settle(&p);
	assert_int_equal(f->sent, MUX_WINDOW);
	mux_consume(s, 1);
	pair_settle(&p);
	assert_int_equal(f->sent, MUX_WINDOW + MUX_WINDOW / 2);
	pair_fini(&p);
}

/* Whoever has bytes gets one frame a turn. */
static void test_turns(void **state)
{
	struct pair p;
	struct flow *f[3];

	(void)state;
	pair_up(&p, 9);
	for (int i = 0; i < 3; i++)
		f[i] = open_quiet(&p);
	for (int i = 0; i < 3; i++)
		flow_more(f[i], MUX_WINDOW);
	end_flush(&p.end[0], 3 * WIRE_FRAME_MAX);
	end_arrive(&p.end[1], SIZE_MAX);
	for (struct flow *g = p.end[1].flows; g; g = g->next)
		assert_int_equal(g->got, MUX_FRAME_MAX);
	pair_fini(&p);
}

/* A message is heard before any stream byte written after it, however much is in the way. */
static void test_messages_come_first(void **state)
{
	struct pair p;
	struct flow *f;

	(void)state;
	pair_up(&p, 10);
	f = open_quiet(&p);
	for (int i = 0; i < 20; i++)
		end_say(&p.end[0], 30000);
	flow_more(f, 1000);
	pair_settle(&p);
	assert_int_equal(p.end[1].flows->got, 1000);
	assert_int_equal(p.end[1].flows->messages_before, 20);
	/* The same when both wait for a new carrier. */
	f = open_quiet(&p);
	mux_carrier_lost(p.end[0].m);
	for (int i = 0; i < 20; i++)
		end_say(&p.end[0], 30000);
	flow_more(f, 1000);
	mux_carrier_open(p.end[0].m);
	pair_settle(&p);
	assert_true(p.end[0].resumed);
	assert_int_equal(p.end[1].flows->messages_before, 40);
	pair_fini(&p);
}

static void test_limits_of_the_caller(void **state)
{
	static uint8_t big[MUX_MESSAGE_MAX + 1];
	struct pair p;
	unsigned n = 0;

	(void)state;
	pair_up(&p, 11);
	assert_int_equal(mux_send(p.end[0].m, MUX_MESSAGE_FIRST - 1, big, 1), -1);
	assert_int_equal(mux_send(p.end[0].m, 256, big, 1), -1);
	assert_int_equal(mux_send(p.end[0].m, MESSAGE_COUNT, big, sizeof(big)), -1);
	assert_null(mux_open(p.end[0].m, big, MUX_REQUEST_MAX + 1, NULL));
	mux_carrier_lost(p.end[0].m);
	while (mux_send(p.end[0].m, MESSAGE_BAD, big, MUX_MESSAGE_MAX) == 0)
		assert_true(++n < 32);
	assert_int_equal(n, 31);
	pair_fini(&p);
}

static void test_many_streams(void **state)
{
	static uint8_t key[8];
	struct pair p;
	unsigned n = 0;

	(void)state;
	pair_up(&p, 12);
	p.keep = true;
	while (end_open(&p.end[0]))
		if (++n % 10000 == 0)
			pair_settle(&p); /* else the control queue is full */
	assert_int_equal(n, MUX_STREAMS_MAX);
	pair_settle(&p);
	assert_int_equal(p.end[1].opened, MUX_STREAMS_MAX);
	assert_int_equal(mux_count(p.end[0].m), MUX_STREAMS_MAX);
	assert_null(mux_open(p.end[0].m, key, sizeof(key), NULL));
	assert_true(sizeof(struct mux_stream) <= 256);
	pair_fini(&p);
}

/* Once everything was answered an idle stream owns no buffer at either end. */
static void test_idle_stream_is_cheap(void **state)
{
	struct pair p;
	struct flow *f;

	(void)state;
	pair_up(&p, 13);
	f = open_quiet(&p);
	flow_more(f, 300);
	pair_settle(&p);
	flow_more(p.end[1].flows, 20000);
	pair_settle(&p);
	end_say(&p.end[0], 4); /* anything takes the owed credits along */
	pair_settle(&p);
	for (int i = 0; i < 2; i++)
		assert_int_equal(p.end[i].flows->s->tx.cap + p.end[i].flows->s->rx.cap, 0);
	pair_fini(&p);
}

/* Who reads into the stream's buffer reserves much and gets little: that keeps no window. */
static void test_a_small_answer_keeps_no_window(void **state)
{
	struct pair p;
	struct flow *f;
	uint8_t *to;
	size_t n = 65536;

	(void)state;
	pair_up(&p, 17);
	f = open_quiet(&p);
	p.end[1].flows->hold = true;
	for (int i = 0; i < 3; i++) {
		to = mux_tx_reserve(f->s, &n);
		assert_non_null(to);
		for (size_t k = 0; k < 7; k++)
			to[k] = flow_byte(f->key, true, f->sent + k);
		mux_tx_commit(f->s, 7);
		f->sent = f->goal += 7;
		assert_in_range(f->s->tx.cap, 1, 512);
	}
	pair_settle(&p);
	p.end[1].flows->hold = false;
	flow_receive(p.end[1].flows);
	assert_int_equal(p.end[1].flows->got, 21);
	pair_fini(&p);
}

static void test_ids_wrap(void **state)
{
	struct pair p;
	struct flow *first;

	(void)state;
	pair_up(&p, 14);
	first = open_quiet(&p);
	assert_int_equal(mux_stream_id(first->s), 1);
	p.end[0].m->next_id = UINT32_MAX;
	assert_int_equal(mux_stream_id(open_quiet(&p)->s), UINT32_MAX);
	assert_int_equal(mux_stream_id(open_quiet(&p)->s), 3);
	assert_int_equal(p.end[1].opened, 3);
	p.end[1].m->next_id = UINT32_MAX - 1;
	assert_int_equal(mux_stream_id(end_open(&p.end[1])->s), UINT32_MAX - 1);
	assert_int_equal(mux_stream_id(end_open(&p.end[1])->s), 2);
	pair_settle(&p);
	assert_int_equal(p.end[0].opened, 2);
	pair_fini(&p);
}

static void abort_each(void *ctx, struct mux_stream *s)
{
	struct end *e = ctx;

	flow_free(mux_stream_get(s));
	mux_reset(s, MUX_RESET_ABORT);
	assert_ptr_equal(e->m, e->pair->end[e->side].m);
}

static void test_each_may_reset(void **state)
{
	struct pair p;

	(void)state;
	pair_up(&p, 15);
	for (int i = 0; i < 5; i++)
		open_quiet(&p);
	mux_each(p.end[0].m, abort_each, &p.end[0]);
	assert_int_equal(mux_count(p.end[0].m), 0);
	pair_settle(&p);
	assert_int_equal(p.end[1].resets[MUX_RESET_ABORT], 5);
	pair_fini(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_connects),
		cmocka_unit_test(test_streams_both_ways),
		cmocka_unit_test(test_an_opening_is_known_to_be_heard_when_asked_for),
		cmocka_unit_test(test_taken_in_small_steps),
		cmocka_unit_test(test_unwritten_parts_outlive_their_stream),
		cmocka_unit_test(test_messages),
		cmocka_unit_test(test_half_close),
		cmocka_unit_test(test_end_behind_unread_bytes),
		cmocka_unit_test(test_reset_codes),
		cmocka_unit_test(test_refusal),
		cmocka_unit_test(test_slow_stream_blocks_no_other),
		cmocka_unit_test(test_credit_at_half_a_window),
		cmocka_unit_test(test_turns),
		cmocka_unit_test(test_messages_come_first),
		cmocka_unit_test(test_limits_of_the_caller),
		cmocka_unit_test(test_many_streams),
		cmocka_unit_test(test_idle_stream_is_cheap),
		cmocka_unit_test(test_a_small_answer_keeps_no_window),
		cmocka_unit_test(test_ids_wrap),
		cmocka_unit_test(test_each_may_reset),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
