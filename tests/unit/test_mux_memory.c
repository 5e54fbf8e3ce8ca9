/* The engine when memory is short: streams and links may be lost, nothing else. The engine's own sources are
 * compiled in here with an allocator that fails as told. */
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

static unsigned fail_one_in; /* 0 = never */
static unsigned long allocations;
static unsigned long long allocator_state = 1;

static bool refuse_memory(void)
{
	allocations++;
	allocator_state = allocator_state * 6364136223846793005u + 1442695040888963407u;
	return fail_one_in && (allocator_state >> 33) % fail_one_in == 0;
}

static void *short_malloc(size_t n)
{
	return refuse_memory() ? NULL : malloc(n);
}

static void *short_calloc(size_t n, size_t size)
{
	return refuse_memory() ? NULL : calloc(n, size);
}

#include "tests/unit/mux_pair.h"

#define malloc(n) short_malloc(n)
#define calloc(n, size) short_calloc(n, size)
#define on_message control_on_message
#define on_open control_on_open
#define on_reset control_on_reset
#include "lib/mux.c"
#include "lib/mux_control.c"
#include "lib/mux_memory.c"
#include "lib/mux_output.c"
#include "lib/mux_receive.c"
#include "lib/mux_resume.c"
#include "lib/mux_stream.c"
#include "lib/ring.c"
#undef malloc
#undef calloc

static void test_new_fails(void **state)
{
	static const struct mux_ops ops;
	unsigned failed = 0;

	(void)state;
	fail_one_in = 3;
	for (int i = 0; i < 200; i++) {
		struct mux *m = mux_new(MUX_HOST, 1, &ops, NULL);

		failed += !m;
		mux_free(m);
	}
	fail_one_in = 0;
	assert_in_range(failed, 50, 199);
}

static void test_history_with_failures(void **state)
{
	(void)state;
	for (unsigned seed = 1; seed <= 300; seed++) {
		struct pair p;

		pair_init(&p, seed);
		if (seed % 3 == 0)
			pair_share(&p);
		p.goal_max = 300000;
		pair_connect(&p);
		allocator_state = seed;
		for (int turn = 0; turn < 60; turn++) {
			struct end *e = &p.end[pair_below(&p, 2)];

			fail_one_in = 2 + (unsigned)pair_below(&p, 40);
			if (turn % 3 == 0)
				end_open(e);
			if (turn % 5 == 0)
				end_say(e, 4 + pair_below(&p, 30000));
			if (turn % 13 == 0)
				mux_carrier_open(e->m);
			end_flush(e, (size_t)pair_below(&p, 100000));
			end_arrive(e, (size_t)pair_below(&p, 100000));
		}
		pair_settle(&p);
		fail_one_in = 0;
		/* A new carrier wakes whoever starved. */
		mux_carrier_open(p.end[0].m);
		pair_settle(&p);
		for (int i = 0; i < 2; i++) {
			assert_true(p.end[i].up);
			assert_int_equal(mux_count(p.end[i].m), 0);
			assert_int_equal(p.end[i].expected_message, p.end[!i].next_message);
		}
		pair_fini(&p);
	}
	assert_true(allocations > 10000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_new_fails),
		cmocka_unit_test(test_history_with_failures),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
