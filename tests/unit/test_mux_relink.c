/* The engine over a carrier that is lost and made again: whatever is cut, lost or restarted, both ends find each
 * other, no wrong byte reaches a stream, and while the processes live nothing is lost at all.
 * MUX_ROUNDS (environment) sets the number of random histories. */
#include "tests/unit/mux_pair.h"

#include "lib/mux_internal.h"

static unsigned rounds(unsigned otherwise)
{
	const char *s = getenv("MUX_ROUNDS");

	return s ? (unsigned)strtoul(s, NULL, 10) : otherwise;
}

/* Loses all but the first keep bytes, or the first n bytes, of what is under way from e. */
static void lose_tail(struct end *e, size_t keep)
{
	if (keep < e->wire.len)
		e->wire.len = keep;
}

static void lose_front(struct end *e, size_t n)
{
	buf_drop_front(&e->wire, n < e->wire.len ? n : e->wire.len);
}

static size_t some(struct pair *p, size_t n)
{
	switch (pair_below(p, 4)) {
	case 0:
		return 0;
	case 1:
		return n;
	default:
		return (size_t)pair_below(p, n + 1);
	}
}

/* The port is closed and opened again at e's side; what e wrote last and what it was to read first may be gone. */
static void reopen(struct end *e, bool told)
{
	struct end *other = &e->pair->end[e->side == MUX_HOST];

	if (told)
		mux_carrier_lost(e->m);
	lose_tail(e, some(e->pair, e->wire.len));
	lose_front(other, some(e->pair, other->wire.len));
	mux_carrier_open(e->m);
}

static void restart(struct end *e)
{
	struct end *other = &e->pair->end[e->side == MUX_HOST];

	end_stop(e);
	lose_tail(e, some(e->pair, e->wire.len));
	lose_front(other, some(e->pair, other->wire.len));
	end_start(e);
	mux_carrier_open(e->m);
}

static void work(struct pair *p, unsigned steps)
{
	for (unsigned i = 0; i < steps; i++) {
		struct end *e = &p->end[pair_below(p, 2)];
		size_t n = 1 + pair_below(p, pair_below(p, 2) ? 50 : 90000);
		struct flow *f = e->flows;

		for (uint64_t k = pair_below(p, 5); f && k; k--)
			f = f->next;
		switch (pair_below(p, 12)) {
		case 0:
			if (mux_count(e->m) < 50)
				end_open(e);
			break;
		case 1:
			end_say(e, 4 + pair_below(p, pair_below(p, 8) ? 60 : 20000));
			break;
		case 2:
			if (f)
				f->hold = !f->hold;
			if (f && !f->hold)
				flow_receive(f);
			break;
		case 3:
		case 4:
		case 5:
		case 6:
			end_flush(e, n);
			break;
		default:
			end_arrive(e, n);
		}
	}
}

static void abort_one(struct pair *p)
{
	struct end *e = &p->end[pair_below(p, 2)];
	struct flow *f = e->flows;

	if (!f)
		return;
	(pair_below(p, 2) ? mux_reset : mux_abort)(f->s, MUX_RESET_ABORT);
	flow_free(f);
}

/* The carrier holds from now on: everything must come to its end. */
static void check_end(struct pair *p)
{
	p->end[0].chaos = p->end[1].chaos = false;
	pair_settle(p);
	for (int i = 0; i < 2; i++) {
		assert_true(p->end[i].up);
		for (struct flow *f = p->end[i].flows; f; f = f->next) {
			f->hold = false;
			flow_receive(f);
		}
	}
	pair_settle(p);
	for (int i = 0; i < 2; i++) {
		assert_true(p->end[i].up);
		assert_int_equal(mux_peer_epoch(p->end[i].m), p->end[!i].epoch);
		assert_int_equal(p->end[i].expected_message, p->end[!i].next_message);
		assert_int_equal(mux_count(p->end[i].m), 0);
		assert_null(p->end[i].flows);
		assert_int_equal(p->end[i].resets[MUX_RESET_PROTOCOL], 0);
		assert_int_equal(p->end[i].resets[MUX_RESET_LIMIT], 0);
	}
}

/* Same processes, carrier lost again and again: every stream completes, every message arrives once. */
static void test_nothing_is_lost(void **state)
{
	(void)state;
	for (unsigned seed = 1; seed <= rounds(100); seed++) {
		struct pair p;

		pair_init(&p, seed);
		if (seed % 3 == 0)
			pair_share(&p);
		if (seed % 4 == 0)
			p.goal_max = 900000;
		pair_connect(&p);
		for (unsigned cuts = 0; cuts < 12; cuts++) {
			work(&p, 80);
			reopen(&p.end[pair_below(&p, 2)], pair_below(&p, 2));
		}
		work(&p, 30);
		check_end(&p);
		for (int i = 0; i < 2; i++) {
			assert_int_equal(p.end[i].fresh, 1);
			for (int code = 0; code < 8; code++)
				assert_int_equal(p.end[i].resets[code], 0);
		}
		assert_int_equal(p.end[0].closed, p.end[1].closed);
		pair_fini(&p);
	}
}

/* Anything: processes restarted, streams aborted, cuts before the link is up. */
static void test_always_finds_back(void **state)
{
	(void)state;
	for (unsigned seed = 1; seed <= rounds(200); seed++) {
		struct pair p;

		pair_init(&p, 1000000 + seed);
		if (seed % 3 == 0)
			pair_share(&p);
		p.end[0].chaos = p.end[1].chaos = seed % 3 == 0;
		mux_carrier_open(p.end[0].m);
		mux_carrier_open(p.end[1].m);
		for (unsigned cuts = 0; cuts < 15; cuts++) {
			work(&p, (unsigned)pair_below(&p, 60));
			switch (pair_below(&p, 5)) {
			case 0:
				restart(&p.end[pair_below(&p, 2)]);
				break;
			case 1:
				abort_one(&p);
				break;
			default:
				reopen(&p.end[pair_below(&p, 2)], pair_below(&p, 2));
			}
			if (!pair_below(&p, 3))
				pair_settle(&p);
		}
		check_end(&p);
		pair_fini(&p);
	}
}

/* The link comes up on one side only, which begins a new conversation; what the other still holds of the former one
 * looks as if it fitted. */
static void test_fresh_on_one_side_only(void **state)
{
	struct pair p;
	struct end *host = &p.end[0], *guest = &p.end[1];

	(void)state;
	pair_init(&p, 3000);
	pair_connect(&p);
	end_say(host, 4);
	pair_settle(&p);
	assert_int_equal(guest->expected_message, 1);
	mux_conversation_end(host->m);
	while (host->fresh == 1) {
		end_flush(host, SIZE_MAX);
		end_arrive(guest, SIZE_MAX);
		end_flush(guest, SIZE_MAX);
		end_arrive(host, SIZE_MAX);
	}
	assert_false(guest->up);
	end_say(host, 4);
	while (end_flush(host, SIZE_MAX))
		lose_tail(host, 0);
	mux_carrier_open(host->m);
	end_say(host, 4);
	check_end(&p);
	assert_int_equal(host->fresh, 3);
	assert_int_equal(guest->fresh, 2);
	pair_fini(&p);
}

/* The carrier breaks after each possible number of bytes, in either direction, at either side's knowledge. */
static void test_cut_at_every_byte(void **state)
{
	(void)state;
	for (unsigned way = 0; way < 4; way++) {
		struct end *from;
		size_t total = SIZE_MAX;

		for (size_t at = 0; at < total;) {
			struct pair p;
			size_t moved = 0;

			pair_init(&p, 5000);
			pair_connect(&p);
			p.goal_max = 300;
			from = &p.end[way & 1];
			mux_carrier_open(p.end[way >> 1].m);
			end_open(&p.end[0]);
			end_open(&p.end[1]);
			end_say(&p.end[0], 50);
			end_say(&p.end[1], 50);
			/* Byte by byte from this side, as it comes from the other. */
			for (bool any = true; any && moved < at;) {
				any = end_flush(from, SIZE_MAX);
				size_t n = from->wire.len < at - moved ? from->wire.len : at - moved;

				moved += end_arrive(&p.end[from == &p.end[0]], n);
				any |= n || end_flush(&p.end[from == &p.end[0]], SIZE_MAX);
				end_arrive(from, SIZE_MAX);
			}
			if (moved < at)
				total = moved;
			lose_tail(from, 0);
			mux_carrier_open(from->m);
			check_end(&p);
			assert_int_equal(p.end[0].fresh + p.end[1].fresh, 2);
			assert_int_equal(p.end[0].closed + p.end[1].closed, 4);
			pair_fini(&p);
			/* Within the zeros of a preamble one place is like another. */
			at += at > 200 && at + 1000 < WIRE_PREAMBLE ? 997 : 1;
		}
		assert_true(total > WIRE_PREAMBLE && total < 3 * WIRE_PREAMBLE);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nothing_is_lost),
		cmocka_unit_test(test_always_finds_back),
		cmocka_unit_test(test_fresh_on_one_side_only),
		cmocka_unit_test(test_cut_at_every_byte),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
