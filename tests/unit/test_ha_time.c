/* When the host agent tells the guest the time. */
#include "tests/unit/ha_peer.h"

/* Time as the test wants it: the machine was asleep for so long. */
static int64_t slept;

#define clock_boot_ms real_boot_ms
int64_t clock_boot_ms(void);
#include "lib/clock.c"
#undef clock_boot_ms

int64_t clock_boot_ms(void)
{
	return clock_ms() + slept;
}

static struct peer p;

static int begin(void **state)
{
	(void)state;
	slept = 0;
	peer_begin(&p);
	return 0;
}

static int end(void **state)
{
	(void)state;
	peer_end(&p);
	return 0;
}

/* A message of another kind. */
static void a_frame(void)
{
	assert_int_equal(guest_send_power_off(p.guest), 0);
	peer_run(&p, peer_rounds);
}

static void the_time_is_told(void **state)
{
	uint64_t ns = 0;

	(void)state;
	peer_link(&p);
	assert_int_equal(guest_send_time(p.guest), 0);
	peer_run(&p, peer_rounds);
	assert_int_equal(p.last_message_len, 8);
	for (int i = 7; i >= 0; i--)
		ns = ns << 8 | p.last_message[i];
	assert_true(ns / 1000000000u - (uint64_t)time(NULL) + 2 < 4);
}

/* Host or guest may have slept. */
static void the_time_is_told_with_the_first_frame_after_a_quiet_minute(void **state)
{
	size_t before;

	(void)state;
	peer_link(&p);
	peer_run(&p, peer_rounds);
	before = p.messages;
	a_frame();
	slept = 59000;
	a_frame();
	assert_int_equal(p.messages, before + 2);
	slept += 61000;
	peer_run(&p, peer_rounds); /* of itself it says nothing */
	assert_int_equal(p.messages, before + 2);
	memset(p.last_message, 0, sizeof(p.last_message));
	a_frame();
	assert_int_equal(p.messages, before + 4);
	/* The time came first: its bytes are there, and the last message has none. */
	assert_int_equal(p.last_message_len, 0);
	assert_memory_not_equal(p.last_message, "\0\0\0\0\0\0\0\0", 8);
	a_frame();
	assert_int_equal(p.messages, before + 5);
	slept += 61000;
	assert_int_equal(mux_send(p.mux, AP_MSG_BOOT, "", 0), 0); /* the guest is the first */
	peer_run(&p, peer_rounds);
	assert_int_equal(p.messages, before + 7); /* its message, and the time */
	assert_int_equal(p.last_message_len, 8);
}

static void nothing(struct stream *st)
{
	(void)st;
}

static void note_messages(struct peer *peer, struct mux_stream *s)
{
	peer->messages_before = peer->messages;
	mux_finish(s);
}

static void the_time_is_told_before_what_needs_it(void **state)
{
	static const struct stream_ops ops = { .opened = nothing, .readable = nothing };
	struct stream st = { .ops = &ops };
	struct ap_open o = { .kind = AP_OPEN_TCP, .family = 4, .port = 80 };
	uint8_t request[64];
	size_t before;

	(void)state;
	p.mode = PEER_RUN;
	p.run = note_messages;
	peer_link(&p);
	a_frame();
	before = p.messages;
	slept += 61000;
	guest_open(p.guest, &st, request, (size_t)ap_open_pack(&o, request, sizeof(request)));
	peer_run(&p, peer_rounds);
	assert_int_equal(p.opened, 1);
	assert_int_equal(p.messages_before, before + 1);
	slept += 61000;
	mux_write(st.mux, "x", 1);
	peer_run(&p, peer_rounds);
	assert_int_equal(p.got, 1);
	assert_int_equal(p.messages_before, before + 2);
	guest_abort(&st, MUX_RESET_ABORT);
}

static void a_guest_that_asks_for_the_time_gets_its_stamp_back(void **state)
{
	struct ap_clock a;
	size_t before;

	(void)state;
	peer_link(&p);
	peer_run(&p, peer_rounds);
	before = p.messages;
	assert_int_equal(guest_answer_clock(p.guest, (const uint8_t *)"stamp..", 7), -1);
	assert_int_equal(guest_answer_clock(p.guest, (const uint8_t *)"stamp...x", 9), -1);
	assert_int_equal(guest_answer_clock(p.guest, (const uint8_t *)"stamp...", 8), 0);
	peer_run(&p, peer_rounds);
	assert_int_equal(ap_clock_unpack(&a, p.last_message, p.last_message_len), 0);
	assert_memory_equal(p.last_message, "stamp...", 8);
	assert_true(a.ns / 1000000000u - (uint64_t)time(NULL) + 2 < 4);
	/* However often it asks, it costs us ten answers a second. */
	for (int i = 0; i < 1000; i++)
		assert_int_equal(guest_answer_clock(p.guest, (const uint8_t *)"stamp...", 8), 0);
	peer_run(&p, peer_rounds);
	assert_true(p.messages - before <= 20);
	slept += 1000;
	assert_int_equal(guest_answer_clock(p.guest, (const uint8_t *)"the next", 8), 0);
	peer_run(&p, peer_rounds);
	assert_memory_equal(p.last_message, "the next", 8);
}

int main(void)
{
#define T(fn) cmocka_unit_test_setup_teardown(fn, begin, end)
	const struct CMUnitTest tests[] = {
		T(the_time_is_told),
		T(the_time_is_told_with_the_first_frame_after_a_quiet_minute),
		T(the_time_is_told_before_what_needs_it),
		T(a_guest_that_asks_for_the_time_gets_its_stamp_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
