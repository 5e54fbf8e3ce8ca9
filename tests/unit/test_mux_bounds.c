/* What a peer must not say: it costs a stream or the link, never more. Frames are forged in the guest's name. */
#include "tests/unit/mux_pair.h"

#include "lib/le.h"
#include "lib/mux_internal.h"

/* Hands the host a frame as the guest would have sent it next. */
static void forge(struct pair *p, struct wire_frame f, const void *payload)
{
	static uint8_t frame[WIRE_FRAME_MAX];
	struct mux *guest = p->end[1].m;

	memset(frame, 0, sizeof(frame));
	wire_header_pack(frame, &f, guest->link, guest->tx_seq);
	memcpy(frame + WIRE_HEADER, payload, f.len);
	le32_put(frame + WIRE_HEADER + f.len, wire_trailer(&f, guest->link, guest->tx_seq));
	guest->tx_seq++;
	feed(&p->end[0].feed, p->end[0].m, frame, WIRE_HEADER + f.len + WIRE_TRAILER);
}

static void forge_control(struct pair *p, const void *bytes, size_t len)
{
	forge(p, (struct wire_frame){ .type = WIRE_CONTROL, .len = (uint32_t)len,
				      .arg = (uint32_t)p->end[0].m->control.rx }, bytes);
}

static void forge_message(struct pair *p, uint8_t type, const void *body, size_t len)
{
	uint8_t m[CONTROL_HEADER + 64] = { type, 0, (uint8_t)len, (uint8_t)(len >> 8) };

	memcpy(m + CONTROL_HEADER, body, len);
	forge_control(p, m, CONTROL_HEADER + len);
}

static struct flow *setup(struct pair *p)
{
	struct flow *f;

	pair_init(p, 99);
	pair_connect(p);
	p->keep = true;
	f = end_open(&p->end[0]);
	assert_non_null(f);
	pair_settle(p);
	return f;
}

static void test_stream_violations(void **state)
{
	static const uint8_t bytes[MUX_FRAME_MAX];
	static const struct wire_frame bad[] = {
		{ .type = WIRE_DATA, .id = 1, .len = 10, .arg = 1 },          /* a gap */
		{ .type = WIRE_DATA, .id = 1, .len = 10, .arg = UINT32_MAX }, /* again what was sent */
		{ .type = WIRE_DATA, .id = 1 },                               /* nothing at all */
		{ .type = WIRE_CREDIT, .id = 1, .arg = 1 },                   /* for what was never sent */
		{ .type = WIRE_CREDIT, .id = 1, .arg = UINT32_MAX },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct pair p;

		setup(&p);
		forge(&p, bad[i], bytes);
		assert_int_equal(p.end[0].resets[MUX_RESET_PROTOCOL], 1);
		assert_int_equal(mux_count(p.end[0].m), 0);
		assert_true(p.end[0].up);
		pair_settle(&p);
		assert_int_equal(p.end[1].resets[MUX_RESET_PROTOCOL], 1);
		pair_fini(&p);
	}
}

static void test_beyond_the_window(void **state)
{
	static uint8_t bytes[MUX_FRAME_MAX];
	struct pair p;
	struct flow *f;

	(void)state;
	f = setup(&p);
	f->hold = true;
	for (uint32_t at = 0; at < MUX_WINDOW; at += MUX_FRAME_MAX)
		forge(&p, (struct wire_frame){ .type = WIRE_DATA, .id = 1, .len = MUX_FRAME_MAX, .arg = at }, bytes);
	assert_int_equal(mux_count(p.end[0].m), 1);
	forge(&p, (struct wire_frame){ .type = WIRE_DATA, .id = 1, .len = 1, .arg = MUX_WINDOW }, bytes);
	assert_int_equal(p.end[0].resets[MUX_RESET_PROTOCOL], 1);
	pair_fini(&p);
}

static void test_after_the_end(void **state)
{
	struct pair p;

	(void)state;
	setup(&p);
	forge(&p, (struct wire_frame){ .type = WIRE_DATA, .id = 1, .flags = WIRE_FIN }, "");
	assert_int_equal(mux_count(p.end[0].m), 1);
	forge(&p, (struct wire_frame){ .type = WIRE_DATA, .id = 1, .len = 1, .arg = 1 }, "x");
	assert_int_equal(p.end[0].resets[MUX_RESET_PROTOCOL], 1);
	pair_fini(&p);
}

static void test_unknown_streams_are_ignored(void **state)
{
	struct pair p;
	uint8_t reset[8] = { 99, 0, 0, 0, MUX_RESET_ABORT };

	(void)state;
	setup(&p);
	forge(&p, (struct wire_frame){ .type = WIRE_DATA, .id = 77, .len = 1, .arg = 5 }, "x");
	forge(&p, (struct wire_frame){ .type = WIRE_CREDIT, .id = 77, .arg = 5 }, "");
	forge_message(&p, CONTROL_RESET, reset, sizeof(reset));
	assert_true(p.end[0].up);
	assert_int_equal(mux_count(p.end[0].m), 1);
	pair_fini(&p);
}

/* "Done" while it is not, and a code there is not. */
static void test_wrong_resets(void **state)
{
	(void)state;
	for (uint32_t code = 0; code < 10; code += 9) {
		struct pair p;
		uint8_t reset[8] = { 1, 0, 0, 0, (uint8_t)code };

		setup(&p);
		forge_message(&p, CONTROL_RESET, reset, sizeof(reset));
		assert_int_equal(p.end[0].resets[MUX_RESET_PROTOCOL], 1);
		pair_fini(&p);
	}
}

/* What breaks the conversation: everything begins anew, once, and works. */
static void test_malformed_control(void **state)
{
	static const struct {
		uint8_t len, bytes[16];
	} bad[] = {
		{ 4, { 0 } },                                           /* no type */
		{ 4, { MESSAGE_COUNT, 1 } },                            /* reserved byte */
		{ 4, { MESSAGE_COUNT, 0, 1, 0x80 } },                   /* too long */
		{ 4, { MESSAGE_BAD } },                                 /* the program refuses it */
		{ 4, { CONTROL_OPEN } },                                /* no id */
		{ 8, { CONTROL_OPEN, 0, 4, 0, 0, 0, 0, 0 } },           /* id 0 */
		{ 8, { CONTROL_OPEN, 0, 4, 0, 3, 0, 0, 0 } },           /* one of ours */
		{ 5, { CONTROL_RESET, 0, 1, 0, 1 } },                   /* short */
		{ 12, { CONTROL_MARK, 0, 7, 0 } },                      /* short */
		{ 5, { CONTROL_PING, 0, 1, 0, 0 } },                    /* a body */
		{ 4, { CONTROL_PING + 1 } },                            /* unknown */
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct pair p;

		setup(&p);
		/* also in two pieces */
		if (i & 1 && bad[i].len > 4) {
			forge_control(&p, bad[i].bytes, 3);
			forge_control(&p, bad[i].bytes + 3, bad[i].len - 3u);
		} else {
			forge_control(&p, bad[i].bytes, bad[i].len);
		}
		assert_false(p.end[0].up);
		pair_settle(&p);
		assert_true(p.end[0].up && p.end[1].up);
		assert_int_equal(p.end[0].fresh, 2);
		assert_int_equal(p.end[1].fresh, 2);
		assert_int_equal(p.end[0].resets[MUX_RESET_LOST], 1);
		assert_int_equal(p.end[1].resets[MUX_RESET_LOST], 1);
		pair_fini(&p);
	}
}

static void test_same_stream_twice(void **state)
{
	struct pair p;
	uint8_t open[4 + 8] = { 2 };

	(void)state;
	setup(&p);
	forge_message(&p, CONTROL_OPEN, open, sizeof(open));
	assert_int_equal(p.end[0].opened, 1);
	forge_message(&p, CONTROL_OPEN, open, sizeof(open));
	assert_false(p.end[0].up);
	pair_fini(&p);
}

static void test_table_nobody_asked_for(void **state)
{
	uint8_t record[WIRE_RECORD] = { 1 };
	struct pair p;

	(void)state;
	setup(&p);
	forge(&p, (struct wire_frame){ .type = WIRE_RESUME, .flags = WIRE_LAST, .len = WIRE_RECORD }, record);
	assert_false(p.end[0].up);
	pair_settle(&p);
	assert_int_equal(p.end[0].fresh, 2);
	pair_fini(&p);
}

/* Bytes that are no frame cost the link, but no stream. */
static void test_no_frame(void **state)
{
	uint8_t bytes[WIRE_HEADER + WIRE_TRAILER];

	(void)state;
	for (int i = 0; i < 6; i++) {
		struct pair p;
		struct wire_frame f = { .type = WIRE_CREDIT };
		uint64_t link;
		uint32_t seq;

		setup(&p);
		link = p.end[1].m->link;
		seq = p.end[1].m->tx_seq;
		if (i == 0)
			f.type = WIRE_TYPES;
		if (i == 1)
			f.flags = 0x80;
		if (i == 2)
			f = (struct wire_frame){ .type = WIRE_DATA, .len = MUX_FRAME_MAX + 1 };
		wire_header_pack(bytes, &f, link + (i == 3), seq + (i == 4));
		le32_put(bytes + WIRE_HEADER, wire_trailer(&f, link, seq) ^ (i == 5));
		feed(&p.end[0].feed, p.end[0].m, bytes, sizeof(bytes));
		assert_false(p.end[0].up);
		pair_settle(&p);
		assert_true(p.end[0].up && p.end[0].resumed && p.end[1].up && p.end[1].resumed);
		assert_int_equal(mux_count(p.end[0].m), 1);
		pair_fini(&p);
	}
}

/* A peer whose program says nothing right is left alone after a while; the next process is heard again. */
static void test_endless_nonsense(void **state)
{
	struct pair p;

	(void)state;
	pair_init(&p, 98);
	p.end[1].bad_on_up = true;
	mux_carrier_open(p.end[0].m);
	mux_carrier_open(p.end[1].m);
	pair_settle(&p);
	assert_false(p.end[0].up);
	assert_in_range(p.end[0].ups, 2, 40);
	end_stop(&p.end[1]);
	p.end[1].bad_on_up = false;
	end_start(&p.end[1]);
	mux_carrier_open(p.end[1].m);
	pair_settle(&p);
	assert_true(p.end[0].up && p.end[1].up);
	pair_fini(&p);
}

/* A carrier that throws back what it is given. */
static void test_own_echo(void **state)
{
	struct pair p;

	(void)state;
	pair_init(&p, 97);
	mux_carrier_open(p.end[0].m);
	for (int i = 0; i < 10; i++) {
		end_flush(&p.end[0], SIZE_MAX);
		feed(&p.end[0].feed, p.end[0].m, (uint8_t *)p.end[0].wire.data, p.end[0].wire.len);
	}
	assert_false(p.end[0].up);
	assert_true(p.end[0].wire.len < 2 * WIRE_FRAME_MAX);
	pair_fini(&p);
}

/* A stream that is not ours to open beyond the limit is refused by name, and nothing else happens. */
static void test_too_many_from_the_peer(void **state)
{
	struct pair p;

	(void)state;
	setup(&p);
	p.end[0].m->count = MUX_STREAMS_MAX; /* as if */
	end_open(&p.end[1]);
	pair_settle(&p);
	assert_int_equal(p.end[0].opened, 0);
	assert_int_equal(p.end[1].resets[MUX_RESET_LIMIT], 1);
	assert_true(p.end[0].up);
	p.end[0].m->count = 1;
	pair_fini(&p);
}

static void add_kept(void *ctx, struct mux_stream *s)
{
	*(size_t *)ctx += s->tx.cap;
}

/* As who reads into the stream's buffer: as much as there is place for. */
static void flow_take_more(struct flow *f, uint64_t n)
{
	f->goal += n;
	while (f->sent < f->goal) {
		size_t part = (size_t)(f->goal - f->sent);
		uint8_t *to = mux_tx_reserve(f->s, &part);

		if (!to)
			return;
		for (size_t i = 0; i < part; i++)
			to[i] = flow_byte(f->key, f->opener, f->sent + i);
		mux_tx_commit(f->s, part);
		f->sent += part;
	}
}

/* Many streams that all have much to say keep little each; one by itself a whole window. */
static void test_many_busy_streams_share_what_is_kept(void **state)
{
	enum { STREAMS = 100, EACH = 300000 };
	struct pair p;
	struct flow *f[STREAMS];
	struct flow *whole;
	size_t kept = 0;

	(void)state;
	pair_init(&p, 31);
	pair_connect(&p);
	p.keep = true;
	f[0] = end_open(&p.end[0]);
	pair_settle(&p);
	p.end[1].flows->hold = true;
	flow_take_more(f[0], EACH);
	assert_int_equal(f[0]->sent, MUX_WINDOW);
	for (int i = 1; i < STREAMS; i++) {
		f[i] = end_open(&p.end[0]);
		pair_settle(&p);
		p.end[1].flows->hold = true;
		flow_take_more(f[i], EACH);
		assert_in_range(f[i]->sent, MUX_FRAME_MAX, MUX_WINDOW);
	}
	/* Who has one thing to say that is whole only as a whole is not held to that. */
	whole = end_open(&p.end[0]);
	pair_settle(&p);
	assert_int_equal(mux_room(whole->s), MUX_WINDOW);
	flow_more(whole, 65509);
	assert_int_equal(whole->sent, 65509);
	pair_settle(&p);
	assert_int_equal(p.end[1].flows->got, 65509);
	flow_end(whole);
	flow_end(p.end[1].flows);
	pair_settle(&p);
	/* Nobody reads: what the first ones took before there were many stays with them. */
	mux_each(p.end[0].m, add_kept, &kept);
	assert_in_range(kept, STREAMS * MUX_FRAME_MAX, 7 << 20);
	for (struct flow *r = p.end[1].flows; r; r = r->next) {
		r->hold = false;
		flow_receive(r);
	}
	pair_settle(&p);
	for (int i = 0; i < STREAMS; i++) {
		assert_int_equal(f[i]->sent, EACH);
		flow_end(f[i]);
	}
	for (struct flow *r = p.end[1].flows; r; r = r->next)
		assert_int_equal(r->got, EACH);
	kept = 0;
	mux_each(p.end[0].m, add_kept, &kept);
	assert_in_range(kept, 0, STREAMS * MUX_FRAME_MAX);
	pair_fini(&p);
}

/* Who wants to write a whole record is told of more room when there was too little of it, and only then. */
static void test_too_little_room_is_told_of(void **state)
{
	(void)state;
	for (size_t record = 100; record <= 101; record++) {
		struct pair p;
		struct flow *f = setup(&p), *reader = p.end[1].flows;

		reader->hold = true;
		flow_more(f, MUX_WINDOW - 100);
		pair_settle(&p);
		assert_int_equal(mux_room(f->s), 100);
		assert_int_equal(mux_room_for(f->s, record), record == 100);
		f->goal += record; /* is sent when the stream is writable */
		reader->hold = false;
		flow_receive(reader);
		pair_settle(&p);
		assert_int_equal(f->goal - f->sent, record == 100 ? 100 : 0);
		pair_fini(&p);
	}
}

/* A reader that takes little at a time makes room in small pieces; the writer hears of it when there is half a window. */
static void test_room_is_told_in_large_pieces(void **state)
{
	struct pair p;
	struct flow *f, *to;
	unsigned told = 0;

	(void)state;
	pair_init(&p, 23);
	pair_connect(&p);
	p.keep = true;
	f = end_open(&p.end[0]);
	assert_non_null(f);
	pair_settle(&p);
	to = p.end[1].flows;
	flow_more(f, 4 * MUX_WINDOW);
	while (to->got < f->goal) {
		uint64_t sent = f->sent;

		while (end_flush(&p.end[0], SIZE_MAX))
			;
		end_arrive(&p.end[1], 20000);
		while (end_flush(&p.end[1], SIZE_MAX))
			;
		end_arrive(&p.end[0], SIZE_MAX);
		if (f->sent == sent)
			continue;
		told++;
		assert_true(f->sent == f->goal || f->sent - sent >= MUX_WINDOW / 2);
	}
	assert_in_range(told, 2, 6);
	flow_end(f);
	pair_settle(&p);
	pair_fini(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_stream_violations),
		cmocka_unit_test(test_beyond_the_window),
		cmocka_unit_test(test_after_the_end),
		cmocka_unit_test(test_unknown_streams_are_ignored),
		cmocka_unit_test(test_wrong_resets),
		cmocka_unit_test(test_malformed_control),
		cmocka_unit_test(test_same_stream_twice),
		cmocka_unit_test(test_table_nobody_asked_for),
		cmocka_unit_test(test_no_frame),
		cmocka_unit_test(test_endless_nonsense),
		cmocka_unit_test(test_own_echo),
		cmocka_unit_test(test_too_many_from_the_peer),
		cmocka_unit_test(test_too_little_room_is_told_of),
		cmocka_unit_test(test_room_is_told_in_large_pieces),
		cmocka_unit_test(test_many_busy_streams_share_what_is_kept),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
