/* mux_abort(): what was written still arrives, then the reset. */
#include "tests/unit/mux_pair.h"

#include "lib/mux_internal.h"

/* One stream of host to guest, which the host may fill at will; f is the host's end. */
static void begin(struct pair *p, struct flow **f)
{
	pair_init(p, 30);
	pair_connect(p);
	p->keep = true;
	*f = end_open(&p->end[0]);
	assert_non_null(*f);
	pair_settle(p);
}

/* Counts, because a flow is gone with its reset. */
static uint64_t arrived;

static void count_readable(void *ctx, struct mux_stream *s)
{
	size_t n;

	(void)ctx;
	while (mux_peek(s, &n) && n) {
		arrived += n;
		mux_consume(s, n);
	}
}

/* The same, and what the guest gets is counted. */
static void begin_counting(struct pair *p, struct flow **f)
{
	begin(p, f);
	arrived = 0;
	p->end[1].m->ops.readable = count_readable;
}

static void leave(struct flow *f)
{
	mux_abort(f->s, MUX_RESET_ABORT);
	flow_free(f);
}

static void check_gone(struct pair *p, unsigned resets)
{
	assert_int_equal(p->end[1].resets[MUX_RESET_ABORT], resets);
	assert_int_equal(p->end[1].closed, 0);
	assert_int_equal(mux_count(p->end[0].m) + mux_count(p->end[1].m), 0);
	pair_fini(p);
}

static void test_written_bytes_come_before_the_reset(void **state)
{
	struct pair p;
	struct flow *f;

	(void)state;
	for (size_t n = 0; n <= MUX_WINDOW; n += MUX_WINDOW / 4) {
		begin_counting(&p, &f);
		flow_more(f, n);
		leave(f);
		pair_settle(&p);
		assert_int_equal(arrived, n);
		check_gone(&p, 1);
	}
}

static void test_an_end_written_before_arrives_too(void **state)
{
	struct pair p;
	struct flow *f;

	(void)state;
	begin_counting(&p, &f);
	flow_more(f, 100);
	flow_end(f);
	leave(f);
	pair_settle(&p);
	assert_int_equal(arrived, 100);
	check_gone(&p, 1);
}

static void test_it_waits_for_no_reader(void **state)
{
	struct pair p;
	struct flow *f;

	(void)state;
	begin(&p, &f);
	p.end[1].flows->hold = true;
	flow_more(f, 5 * MUX_WINDOW);
	pair_settle(&p);
	leave(f);
	pair_settle(&p);
	check_gone(&p, 1);
}

static void test_what_arrives_meanwhile_is_dropped(void **state)
{
	struct pair p;
	struct flow *f;

	(void)state;
	begin(&p, &f);
	flow_more(p.end[1].flows, 50000);
	while (end_flush(&p.end[1], SIZE_MAX))
		;
	flow_more(f, 1000);
	leave(f);
	pair_settle(&p);
	assert_int_equal(p.end[0].resets[MUX_RESET_ABORT], 0);
	check_gone(&p, 1);
}

static void test_it_outlives_the_carrier(void **state)
{
	struct pair p;
	struct flow *f;

	(void)state;
	begin_counting(&p, &f);
	mux_carrier_lost(p.end[0].m);
	mux_carrier_lost(p.end[1].m);
	p.end[0].wire.len = p.end[1].wire.len = 0;
	flow_more(f, 70000);
	leave(f);
	pair_connect(&p);
	assert_int_equal(arrived, 70000);
	check_gone(&p, 1);
}

static void test_what_is_kept_for_a_peer_that_stands_still_is_bounded(void **state)
{
	enum { STREAMS = 1 + LEAVING_MAX / MUX_WINDOW + 20 };
	static struct flow *f[STREAMS];
	struct pair p;

	(void)state;
	begin_counting(&p, &f[0]);
	for (size_t i = 1; i < STREAMS; i++)
		f[i] = end_open(&p.end[0]);
	for (size_t i = 0; i < STREAMS; i++) {
		flow_more(f[i], MUX_WINDOW);
		leave(f[i]);
	}
	assert_int_equal(mux_count(p.end[0].m), LEAVING_MAX / MUX_WINDOW);
	while (end_flush(&p.end[0], SIZE_MAX))
		end_arrive(&p.end[1], SIZE_MAX);
	pair_settle(&p);
	assert_int_equal(arrived, LEAVING_MAX);
	assert_int_equal(p.end[0].m->leaving, 0);
	check_gone(&p, STREAMS);
}

/* Nobody is told of a stream that was let go of. */
static void test_a_new_peer_ends_it_quietly(void **state)
{
	struct pair p;
	struct flow *f;

	(void)state;
	begin(&p, &f);
	mux_carrier_lost(p.end[0].m);
	p.end[0].wire.len = p.end[1].wire.len = 0;
	flow_more(f, 70000);
	leave(f);
	end_stop(&p.end[1]);
	end_start(&p.end[1]);
	pair_connect(&p);
	assert_int_equal(p.end[0].resets[MUX_RESET_LOST], 0);
	check_gone(&p, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_written_bytes_come_before_the_reset),
		cmocka_unit_test(test_an_end_written_before_arrives_too),
		cmocka_unit_test(test_it_waits_for_no_reader),
		cmocka_unit_test(test_what_arrives_meanwhile_is_dropped),
		cmocka_unit_test(test_it_outlives_the_carrier),
		cmocka_unit_test(test_what_is_kept_for_a_peer_that_stands_still_is_bounded),
		cmocka_unit_test(test_a_new_peer_ends_it_quietly),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
