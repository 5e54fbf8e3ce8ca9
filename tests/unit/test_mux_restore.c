/* A guest set back to an older state while the host went on. The same history run twice gives the same guest twice
 * (random numbers are counted here): one goes on with the host, then the other takes its place. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

static uint64_t entropy;

static int counted_entropy(void *p, size_t n)
{
	entropy++;
	memcpy(p, &entropy, n < sizeof(entropy) ? n : sizeof(entropy));
	return 0;
}

#include "tests/unit/mux_pair.h"

#include <sys/random.h>
#include <unistd.h>

#define getentropy counted_entropy
#include "lib/mux.c"

static void move(struct end *from, struct end *to, size_t n)
{
	if (n > from->wire.len)
		n = from->wire.len;
	if (n)
		feed(&to->feed, to->m, (const uint8_t *)from->wire.data, n);
	buf_drop_front(&from->wire, n);
}

static void work(struct pair *p, unsigned steps)
{
	while (steps--) {
		struct end *e = &p->end[pair_below(p, 2)];

		switch (pair_below(p, 8)) {
		case 0:
			if (mux_count(e->m) < 20)
				end_open(e);
			break;
		case 1:
			end_say(e, 4 + pair_below(p, 100));
			break;
		case 2:
		case 3:
		case 4:
			end_flush(e, 1 + pair_below(p, 40000));
			break;
		default:
			end_arrive(e, 1 + pair_below(p, 40000));
		}
	}
}

static void history(struct pair *p, uint64_t seed)
{
	entropy = seed << 32;
	pair_init(p, seed);
	pair_connect(p);
	work(p, 100);
}

static void run_together(struct end *host, struct end *guest)
{
	size_t moved;

	do {
		moved = end_flush(host, SIZE_MAX) + end_flush(guest, SIZE_MAX);
		move(host, guest, SIZE_MAX);
		move(guest, host, SIZE_MAX);
	} while (moved);
}

enum { SAME_STATE, OLDER, OLDER_LINK, OLDER_AND_DIFFERENT, OLDER_IN_ALL, SITUATIONS };

static void swap_guest(uint64_t seed, int situation, unsigned *resumed)
{
	struct pair now, then;
	struct end *host = &now.end[0], *guest = &then.end[1];

	history(&now, seed);
	history(&then, seed);
	assert_int_equal(mux_peer_epoch(host->m), guest->epoch);
	if (situation == OLDER_LINK) {
		mux_carrier_open(host->m);
		pair_settle(&now);
	}
	if (situation == OLDER || situation == OLDER_AND_DIFFERENT) {
		/* All else fits, down to the last byte. */
		pair_settle(&now);
		pair_settle(&then);
		end_say(&now.end[1], 4);
	}
	if (situation == OLDER_IN_ALL)
		work(&now, 100);
	if (situation != SAME_STATE)
		pair_settle(&now);
	/* The guest has not noticed that it is an older one, and goes on as if nothing were. */
	if (situation == OLDER_AND_DIFFERENT) {
		then.seed ^= 1;
		for (int i = 0; i < 20; i++)
			end_say(guest, 5 + pair_below(&then, 900));
		while (end_flush(guest, SIZE_MAX))
			guest->wire.len = 0;
	}
	host->wire.len = guest->wire.len = 0;
	entropy += 1u << 20;
	mux_carrier_lost(host->m);
	mux_carrier_open(host->m);
	run_together(host, guest);
	assert_true(host->up && guest->up);
	assert_int_equal(host->resumed, guest->resumed);
	assert_int_equal(host->ups, situation == OLDER_LINK ? 3 : 2); /* judged right at once */
	assert_int_equal(host->expected_message, guest->next_message);
	assert_int_equal(guest->expected_message, host->next_message);
	assert_int_equal(mux_count(host->m) + mux_count(guest->m), 0);
	assert_int_equal(host->resets[MUX_RESET_PROTOCOL] + guest->resets[MUX_RESET_PROTOCOL], 0);
	*resumed += host->resumed;
	pair_fini(&now);
	pair_fini(&then);
}

static void test_guest_set_back(void **state)
{
	unsigned resumed[SITUATIONS] = { 0 };

	(void)state;
	for (uint64_t seed = 1; seed <= 100; seed++)
		for (int i = 0; i < SITUATIONS; i++)
			swap_guest(seed, i, &resumed[i]);
	assert_int_equal(resumed[SAME_STATE], 100);
	/* It had said what the host heard, and has not: nothing to go on with. */
	assert_int_equal(resumed[OLDER], 0);
	assert_int_equal(resumed[OLDER_LINK], 0);
	assert_int_equal(resumed[OLDER_AND_DIFFERENT], 0);
	assert_in_range(resumed[OLDER_IN_ALL], 0, 99);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_guest_set_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
