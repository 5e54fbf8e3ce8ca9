/* The engine over a carrier that works: streams, messages, order, bounds. */
#include "tests/unit/mux_pair.h"

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
	pair_fini(&p);
}

static void test_streams_both_ways(void **state)
{
	struct pair p;

	(void)state;
	pair_init(&p, 2);
	pair_connect(&p);
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

static void test_messages(void **state)
{
	struct pair p;

	(void)state;
	pair_init(&p, 3);
	pair_connect(&p);
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_connects),
		cmocka_unit_test(test_streams_both_ways),
		cmocka_unit_test(test_messages),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
