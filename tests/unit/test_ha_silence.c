/* Clients of a guest that gives no sign of life. */
#include "tests/unit/ha_conn_client.h"

static void freeze(bool on)
{
	watch_set(p.watch, on ? 0 : WATCH_READ);
}

static bool one_conn(struct peer *peer)
{
	return conns_count(peer->conns) == 1;
}

static void a_silent_guest_lets_nobody_wait_for_long(void **state)
{
	int64_t begun;
	int old;

	(void)state;
	guest_connect(p.guest);
	guest_hurry(p.guest, true);
	connect_client("one");
	assert_string_equal(client_read(), "one");
	old = client;
	begun = clock_ms();
	freeze(true);
	connect_client("two");
	assert_string_equal(client_read(), "");
	assert_true(clock_ms() - begun >= SILENCE_MS - SILENCE_ASK_MS);
	assert_int_equal(conns_count(p.conns), 1);
	close(client);
	/* What was there goes on, and new ones are served. */
	freeze(false);
	connect_client("three");
	assert_string_equal(client_read(), "three");
	close(client);
	peer_run(&p, one_conn);
	client = old;
	assert_int_equal(write(client, "four", 4), 4);
	assert_string_equal(client_read(), "four");
}

static void without_a_link_nobody_waits_for_long(void **state)
{
	(void)state;
	guest_hurry(p.guest, true);
	connect_client("x");
	assert_string_equal(client_read(), "");
	assert_int_equal(conns_count(p.conns), 0);
}

static bool nobody_unheard(struct peer *peer)
{
	return list_empty(&guest_silence(peer->guest)->unheard);
}

static void a_guest_that_works_is_waited_for(void **state)
{
	(void)state;
	p.mode = PEER_HOLD;
	guest_connect(p.guest);
	guest_hurry(p.guest, true);
	connect_client("a long question");
	peer_run(&p, guest_has_stream);
	assert_false(list_empty(&guest_silence(p.guest)->unheard));
	peer_run(&p, nobody_unheard);
	assert_false(guest_silence(p.guest)->armed);
	assert_int_equal(conns_count(p.conns), 1);
}

/* The host agent gets no processor for so long that a silent guest would be given up. */
static void hold_up(void)
{
	usleep((SILENCE_MS + 100) * 1000);
}

static void who_was_held_up_itself_asks_before_it_gives_up(void **state)
{
	(void)state;
	p.mode = PEER_HOLD;
	guest_connect(p.guest);
	guest_hurry(p.guest, true);
	connect_client("x");
	peer_run(&p, guest_has_stream);
	assert_int_equal(guest_silence(p.guest)->asked, 0);
	hold_up();
	peer_run(&p, nobody_unheard);
	assert_int_equal(conns_count(p.conns), 1);
}

static bool has_asked(struct peer *peer)
{
	return guest_silence(peer->guest)->asked;
}

static void who_was_held_up_itself_listens_before_it_gives_up(void **state)
{
	(void)state;
	p.mode = PEER_HOLD;
	guest_connect(p.guest);
	guest_hurry(p.guest, true);
	peer_run(&p, peer_is_up);
	freeze(true);
	connect_client("x");
	peer_run(&p, has_asked);
	guest_flush(p.guest);
	peer_on_fd(&p, WATCH_READ);
	peer_flush(&p); /* the answer lies in the carrier */
	hold_up();
	peer_run(&p, nobody_unheard);
	assert_int_equal(conns_count(p.conns), 1);
}

static void a_question_that_finds_no_room_is_not_asked_without_end(void **state)
{
	static const uint8_t big[MUX_MESSAGE_MAX];
	int64_t asked;

	(void)state;
	guest_connect(p.guest);
	guest_hurry(p.guest, true);
	peer_run(&p, peer_is_up);
	freeze(true);
	connect_client("x");
	while (mux_send(guest_silence(p.guest)->mux, AP_MSG_BOOT, big, sizeof(big)) == 0)
		;
	while (mux_send(guest_silence(p.guest)->mux, AP_MSG_BOOT, big, 0) == 0)
		;
	peer_run(&p, has_asked);
	asked = guest_silence(p.guest)->asked;
	assert_string_equal(client_read(), "");
	assert_int_equal(guest_silence(p.guest)->asked, asked);
}

static void a_sleeping_machine_is_waited_for(void **state)
{
	(void)state;
	peer_link(&p);
	guest_hurry(p.guest, true);
	freeze(true);
	connect_client("x");
	assert_true(guest_silence(p.guest)->armed);
	guest_hurry(p.guest, false);
	assert_false(guest_silence(p.guest)->armed);
	freeze(false);
	assert_string_equal(client_read(), "x");
}

static void a_command_waits_for_a_silent_guest(void **state)
{
	(void)state;
	job = true;
	guest_hurry(p.guest, true);
	connect_client("x");
	assert_false(guest_silence(p.guest)->armed);
	guest_connect(p.guest);
	assert_string_equal(client_read(), "x");
}

int main(void)
{
#define T(fn) cmocka_unit_test_setup_teardown(fn, begin, end)
	const struct CMUnitTest tests[] = {
		T(a_silent_guest_lets_nobody_wait_for_long),
		T(without_a_link_nobody_waits_for_long),
		T(a_guest_that_works_is_waited_for),
		T(who_was_held_up_itself_asks_before_it_gives_up),
		T(who_was_held_up_itself_listens_before_it_gives_up),
		T(a_question_that_finds_no_room_is_not_asked_without_end),
		T(a_sleeping_machine_is_waited_for),
		T(a_command_waits_for_a_silent_guest),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
