/* The engine over a carrier beside which there is memory that both ends see. */
#include "tests/unit/mux_pair.h"

#include "lib/le.h"
#include "lib/mux_internal.h"

static struct pair p;

static uint64_t *word(size_t at)
{
	return &p.memory[at / sizeof(p.memory[0])];
}
static uint64_t *links_word(void) { return word(0); }
static uint64_t *guests_word(void) { return word(64); }

static int set_up(void **state)
{
	(void)state;
	pair_init(&p, 70);
	memset(p.memory, 0, sizeof(p.memory));
	p.keep = true;
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	pair_fini(&p);
	return 0;
}

static struct flow *open_quiet(void)
{
	struct flow *f = end_open(&p.end[0]);

	assert_non_null(f);
	pair_settle(&p);
	return f;
}

/* Runs until all is there; returns how many bytes the host's side of the carrier had. */
static size_t bytes_of_host(void)
{
	size_t n = 0, moved;

	do {
		for (moved = 0; end_flush(&p.end[0], SIZE_MAX); moved++)
			;
		n += p.end[0].wire.len;
		moved += end_arrive(&p.end[1], SIZE_MAX);
		moved += end_flush(&p.end[1], SIZE_MAX) + end_arrive(&p.end[0], SIZE_MAX);
	} while (moved);
	return n;
}

/* What a megabyte to the guest takes of the carrier. */
static size_t a_megabyte(struct flow *f)
{
	size_t n;

	flow_more(f, 1 << 20);
	n = bytes_of_host();
	assert_int_equal(p.end[1].flows->got, f->sent);
	assert_int_equal(f->sent, f->goal);
	return n;
}

static void test_much_goes_by_the_memory(void **state)
{
	struct flow *f;

	(void)state;
	pair_share(&p);
	pair_connect(&p);
	f = open_quiet();
	assert_in_range(a_megabyte(f), 1, 4000);
	/* The other way all goes by the carrier. */
	flow_more(p.end[1].flows, 1 << 20);
	assert_in_range(bytes_of_host(), 1, 4000);
	assert_int_equal(f->got, 1 << 20);
	/* Little, too. */
	flow_more(f, 4000);
	assert_in_range(bytes_of_host(), 4000, 4100);
	flow_more(f, 100000);
	flow_end(f);
	flow_end(p.end[1].flows);
	pair_settle(&p);
	assert_int_equal(p.end[0].closed, 1);
	assert_int_equal(p.end[1].closed, 1);
}

static void test_without_memory_of_both_all_goes_by_the_carrier(void **state)
{
	static uint64_t other[sizeof(p.memory) / sizeof(uint64_t)];

	for (int way = 0; way < 4; way++) {
		set_up(state);
		mux_share(p.end[0].m, way == 1 ? NULL : p.memory, sizeof(p.memory));
		if (way == 2)
			mux_share(p.end[1].m, other, sizeof(other));
		else if (way)
			mux_share(p.end[1].m, p.memory, way == 3 ? MUX_SHARED_MIN - 1 : sizeof(p.memory));
		pair_connect(&p);
		assert_in_range(a_megabyte(open_quiet()), 1 << 20, (1 << 20) + 10000);
		if (way < 3)
			tear_down(state);
	}
}

/* A guest that takes nothing for a while: what finds no place goes by the carrier. */
static void test_full_memory(void **state)
{
	struct flow *f[6];

	(void)state;
	pair_share(&p);
	pair_connect(&p);
	for (int i = 0; i < 6; i++)
		f[i] = open_quiet();
	for (int i = 0; i < 6; i++)
		flow_more(f[i], MUX_WINDOW);
	while (end_flush(&p.end[0], SIZE_MAX))
		;
	assert_true(p.end[0].m->shared.made > 0);
	assert_in_range(p.end[0].wire.len, 6 * MUX_WINDOW - sizeof(p.memory), 6 * MUX_WINDOW);
	pair_settle(&p);
	for (struct flow *g = p.end[1].flows; g; g = g->next)
		assert_int_equal(g->got, MUX_WINDOW);
	/* And there is place again. */
	flow_more(f[0], 1 << 20);
	assert_in_range(bytes_of_host(), 1, 4000);
}

static void test_a_new_link_begins_anew(void **state)
{
	struct flow *f;

	(void)state;
	pair_share(&p);
	pair_connect(&p);
	f = open_quiet();
	for (int round = 0; round < 5; round++) {
		flow_more(f, MUX_WINDOW);
		end_flush(&p.end[0], SIZE_MAX);
		/* What was named on the way is lost; the same bytes come again by the next link. */
		mux_carrier_lost(p.end[0].m);
		p.end[0].wire.len = p.end[1].wire.len = 0;
		mux_carrier_open(p.end[round & 1].m);
		mux_carrier_open(p.end[0].m);
		pair_settle(&p);
		assert_int_equal(*links_word(), p.end[0].m->link);
		assert_int_equal(p.end[1].flows->got, f->sent);
	}
	/* The memory is another one, as of another machine, whose guest does not see ours. */
	mux_share(p.end[0].m, NULL, 0);
	mux_carrier_open(p.end[0].m);
	pair_settle(&p);
	assert_in_range(a_megabyte(f), 1 << 20, (1 << 20) + 10000);
}

static void test_the_guests_word_is_believed_in_bounds_only(void **state)
{
	struct mux *host;
	struct flow *f;
	uint64_t right;

	(void)state;
	pair_share(&p);
	pair_connect(&p);
	host = p.end[0].m;
	f = open_quiet();
	a_megabyte(f);
	right = *guests_word();
	flow_more(f, 8000);
	end_flush(&p.end[0], SIZE_MAX);
	assert_int_equal(host->shared.made - (uint32_t)right, 1);
	for (int lie = 0; lie < 4; lie++) {
		static const uint64_t by[] = { 2, 1u << 31, UINT64_C(1) << 32, UINT64_MAX };

		*guests_word() = right + by[lie];
		assert_false(host->shared.made == host->shared.done);
		flow_more(f, 5000);
		end_flush(&p.end[0], SIZE_MAX);
		assert_in_range(host->shared.made - host->shared.done, 1, 2 + lie);
	}
	*guests_word() = right;
	pair_settle(&p);
	assert_int_equal(p.end[1].flows->got, f->sent);
}

/* The peer's next frame is one of the shared memory, with that place. */
static void say_shared(struct end *to, uint32_t at, uint32_t n)
{
	struct wire_frame f = { .type = WIRE_SHARED, .id = at, .arg = n };
	uint8_t b[WIRE_HEADER + WIRE_TRAILER];

	wire_header_pack(b, &f, to->m->peer, to->m->rx_seq);
	le32_put(b + WIRE_HEADER, wire_trailer(&f, to->m->peer, to->m->rx_seq));
	feed(&to->feed, to->m, b, sizeof(b));
}

static void test_places_that_are_none(void **state)
{
	static const struct {
		bool to_host;
		uint32_t at, n;
	} row[] = {
		{ true, 128, 100 },       /* only the host writes there */
		{ true, 128, 0 },
		{ false, 127, 100 },
		{ false, sizeof(p.memory) + 1, 0 },
		{ false, sizeof(p.memory), 1 },
		{ false, 1000, sizeof(p.memory) - 999 },
		{ false, 1000, UINT32_MAX },
		{ false, 1000, 17 },      /* nothing whole */
		{ false, 128, WIRE_HEADER + WIRE_TRAILER }, /* the frame below */
	};

	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		struct end *to = &p.end[!row[i].to_host];
		struct wire_frame inner = { .type = WIRE_SHARED, .id = 128, .arg = 20 };

		set_up(state);
		pair_share(&p);
		pair_connect(&p);
		wire_header_pack((uint8_t *)word(128), &inner, to->m->peer, to->m->rx_seq + 1);
		say_shared(to, row[i].at, row[i].n);
		assert_false(to->up);
		pair_settle(&p);
		assert_true(to->up);
		assert_in_range(a_megabyte(open_quiet()), 1, 4000);
		if (i + 1 < sizeof(row) / sizeof(row[0]))
			tear_down(state);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_much_goes_by_the_memory, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_without_memory_of_both_all_goes_by_the_carrier, NULL, tear_down),
		cmocka_unit_test_setup_teardown(test_full_memory, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_a_new_link_begins_anew, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_the_guests_word_is_believed_in_bounds_only, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_places_that_are_none, NULL, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
