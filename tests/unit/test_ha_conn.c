/* The relay between a connection of the host and a stream of the guest. */
#include "tests/unit/ha_conn_client.h"

static void bytes_go_both_ways_and_ends_travel(void **state)
{
	(void)state;
	peer_link(&p);
	connect_client("");
	assert_int_equal(write(client, "hello", 5), 5);
	assert_string_equal(client_read(), "hello");
	/* The end of one direction leaves the other open: the echo comes after it. */
	assert_int_equal(write(client, "bye", 3), 3);
	shutdown(client, SHUT_WR);
	assert_string_equal(client_read(), "bye");
	assert_string_equal(client_read(), "");
	peer_run(&p, no_conns);
	assert_int_equal(p.closed, 1);
	assert_int_equal(p.resets, 0);
	assert_int_equal(p.last_open.port, 80);
}

/* One write to the guest, and so one wakeup there, for the opening and what the client has said by then. */
static void what_a_client_says_first_goes_with_the_opening(void **state)
{
	uint8_t bytes[4096];
	size_t n = 0;
	int fds[2];
	ssize_t k;

	(void)state;
	p.mode = PEER_HOLD;
	guest_connect(p.guest);
	peer_run(&p, peer_is_up);
	peer_run(&p, peer_rounds);
	tcp_pair(fds);
	client = fds[0];
	assert_int_equal(write(client, "hello", 5), 5);
	conn_start(p.conns, NULL, fds[1], CONN_PORT, request, request_len, NULL, 0);
	guest_flush(p.guest);
	k = recv(p.fd, bytes, sizeof(bytes), 0);
	assert_true(k > 0);
	mux_feed(p.mux, bytes, (size_t)k);
	assert_int_equal(p.opened, 1);
	assert_memory_equal(mux_peek(p.last, &n), "hello", 5);
	assert_int_equal(n, 5);
}

static void the_guest_may_end_first(void **state)
{
	(void)state;
	p.mode = PEER_COLLECT;
	connect_through();
	mux_write(p.last, "greeting", 8);
	mux_finish(p.last);
	assert_string_equal(client_read(), "greeting");
	assert_string_equal(client_read(), "");
	assert_int_equal(write(client, "still", 5), 5);
	peer_run(&p, peer_rounds);
	assert_int_equal(p.got, 5);
	assert_int_equal(conns_count(p.conns), 1);
	leave();
	peer_run(&p, no_conns);
	assert_int_equal(p.resets, 0);
}

static bool guest_has_bytes(struct peer *peer)
{
	size_t n = 0;

	return peer->last && mux_peek(peer->last, &n) && n;
}

static bool is_answered(struct peer *peer)
{
	return client_ready(peer) && !use_last_asked(guest_use(p.guest));
}

/* Who comes, and bytes, either way; a client is owed an answer from its bytes to the guest's. */
static void what_passes_is_use(void **state)
{
	struct use *u = guest_use(p.guest);

	(void)state;
	p.mode = PEER_HOLD;
	assert_false(u->wanted || u->last);
	connect_through();
	assert_true(u->wanted && u->last);
	assert_int_equal(u->kind, USE_PORT);
	assert_int_equal(use_last_asked(u), 0);
	u->wanted = false;
	assert_int_equal(write(client, "question", 8), 8);
	peer_run(&p, guest_has_bytes);
	assert_true(u->wanted && use_last_asked(u) == u->last);
	u->wanted = false;
	mux_write(p.last, "answer", 6);
	peer_run(&p, is_answered);
	assert_true(u->wanted);
	leave();
	peer_run(&p, no_conns);
	assert_int_equal(u->commands + u->requests, 0);
}

static void a_command_is_use_as_long_as_it_is_there(void **state)
{
	struct use *u = guest_use(p.guest);

	(void)state;
	guest_connect(p.guest);
	job = true;
	connect_client("");
	assert_int_equal(u->commands, 1);
	assert_int_equal(u->kind, USE_COMMAND);
	leave();
	peer_run(&p, no_conns);
	assert_int_equal(u->commands, 0);
}

static void a_connection_waits_for_the_link(void **state)
{
	(void)state;
	connect_client("early ");
	assert_int_equal(write(client, "late", 4), 4);
	peer_run(&p, peer_rounds);
	assert_int_equal(p.opened, 0);
	guest_connect(p.guest);
	assert_string_equal(client_read(), "early late");
}

static void a_refused_connection_ends(void **state)
{
	(void)state;
	p.mode = PEER_REFUSE;
	guest_connect(p.guest);
	connect_client("");
	assert_string_equal(client_read(), "");
	peer_run(&p, no_conns);
}

static void a_broken_client_resets_the_guest(void **state)
{
	(void)state;
	connect_through();
	/* Unread bytes make the close of a unix socket a reset. */
	mux_write(p.last, "unread", 6);
	peer_run(&p, client_ready);
	leave();
	peer_run(&p, guest_saw_reset);
	assert_int_equal(p.last_code, MUX_RESET_ABORT);
	assert_int_equal(conns_count(p.conns), 0);
}

static void reset_client(void)
{
	sock_reset_on_close(client);
	leave();
}

static void bytes_before_a_reset_reach_the_guest(void **state)
{
	(void)state;
	tcp = true;
	p.mode = PEER_COLLECT;
	connect_through();
	assert_int_equal(write(client, "last words", 10), 10);
	reset_client();
	peer_run(&p, guest_saw_reset);
	assert_int_equal(p.got, 10);
	assert_int_equal(conns_count(p.conns), 0);
}

static bool guest_saw_end(struct peer *peer)
{
	return peer->last && mux_at_end(peer->last);
}

/* Nothing is read or written for that client any more, and its reset is noticed all the same. */
static void a_reset_after_a_half_close_is_noticed(void **state)
{
	(void)state;
	tcp = true;
	p.mode = PEER_HOLD;
	connect_through();
	shutdown(client, SHUT_WR);
	peer_run(&p, guest_saw_end);
	peer_run(&p, peer_rounds);
	reset_client();
	peer_run(&p, guest_saw_reset);
	assert_int_equal(conns_count(p.conns), 0);
}

static void the_guest_never_hears_of_it(void)
{
	peer_run(&p, no_conns);
	peer_link(&p);
	assert_int_equal(p.opened, 0);
}

/* A client that resets while it waits for the machine is not kept. */
static void a_reset_before_there_is_a_link_is_noticed(void **state)
{
	(void)state;
	tcp = true;
	connect_client("");
	peer_run(&p, peer_rounds);
	assert_int_equal(conns_count(p.conns), 1);
	reset_client();
	the_guest_never_hears_of_it();
}

/* No error says that the peer of a unix socket is gone. */
static void a_unix_client_that_goes_before_there_is_a_link_is_not_kept(void **state)
{
	(void)state;
	connect_client("");
	assert_int_equal(write(client, "hello", 5), 5);
	peer_run(&p, peer_rounds);
	assert_int_equal(conns_count(p.conns), 1);
	leave();
	the_guest_never_hears_of_it();
}

static void an_urgent_byte_stays_in_line(void **state)
{
	(void)state;
	tcp = true;
	connect_through();
	assert_int_equal(send(client, "!", 1, MSG_OOB), 1);
	assert_string_equal(client_read(), "!");
	assert_int_equal(write(client, "next", 4), 4);
	assert_string_equal(client_read(), "next");
}

static size_t pushed;

static bool client_is_stuck(struct peer *peer)
{
	static char chunk[65536];
	static int idle;
	ssize_t k = write(client, chunk, sizeof(chunk));

	(void)peer;
	if (k > 0)
		pushed += (size_t)k;
	idle = k > 0 ? 0 : idle + 1;
	return idle > 20;
}

static void push_until_stuck(void)
{
	pushed = 0;
	peer_run(&p, client_is_stuck);
}

static bool all_arrived(struct peer *peer)
{
	return peer->got == pushed;
}

static void a_side_that_does_not_read_holds_the_other_back(void **state)
{
	(void)state;
	p.mode = PEER_HOLD;
	connect_through();
	push_until_stuck();
	/* A window in the mux, and what the two sockets hold. */
	assert_true(pushed >= MUX_WINDOW && pushed < MUX_WINDOW + (2 << 20));
	p.mode = PEER_COLLECT;
	peer_pump(&p, p.last);
	peer_run(&p, all_arrived);
}

static void a_command_ends_with_its_client_though_its_input_is_stuck(void **state)
{
	(void)state;
	p.mode = PEER_HOLD;
	job = true;
	connect_through();
	push_until_stuck();
	leave();
	peer_run(&p, guest_saw_reset);
	assert_int_equal(conns_count(p.conns), 0);
}

static void a_reset_while_its_bytes_find_no_room_is_noticed(void **state)
{
	(void)state;
	tcp = true;
	p.mode = PEER_HOLD;
	connect_through();
	push_until_stuck();
	reset_client();
	peer_run(&p, guest_saw_reset);
	assert_int_equal(conns_count(p.conns), 0);
}

static void streams_survive_a_lost_carrier(void **state)
{
	(void)state;
	guest_connect(p.guest);
	connect_client("");
	assert_int_equal(write(client, "one", 3), 3);
	assert_string_equal(client_read(), "one");
	peer_cut(&p);
	assert_int_equal(write(client, "two", 3), 3);
	assert_string_equal(client_read(), "two");
	assert_int_equal(p.ups, 2);
	assert_int_equal(p.resets, 0);
}

static void a_new_guest_agent_resets_streams_and_takes_new_ones(void **state)
{
	(void)state;
	connect_through();
	peer_new_agent(&p);
	peer_run(&p, no_conns);
	assert_string_equal(client_read(), "");
	close(client);
	connect_client("again");
	assert_string_equal(client_read(), "again");
}

static bool two_downs(struct peer *peer)
{
	return peer->downs >= 1;
}

static void without_a_machine_the_link_is_not_made(void **state)
{
	(void)state;
	peer_link(&p);
	guest_disconnect(p.guest);
	peer_run(&p, two_downs);
	peer_run(&p, peer_rounds);
	assert_false(guest_is_up(p.guest));
	connect_client("x");
	peer_run(&p, peer_rounds);
	guest_connect(p.guest);
	assert_string_equal(client_read(), "x");
}

int main(void)
{
#define T(fn) cmocka_unit_test_setup_teardown(fn, begin, end)
	const struct CMUnitTest tests[] = {
		T(bytes_go_both_ways_and_ends_travel),
		T(what_a_client_says_first_goes_with_the_opening),
		T(the_guest_may_end_first),
		T(what_passes_is_use),
		T(a_command_is_use_as_long_as_it_is_there),
		T(a_connection_waits_for_the_link),
		T(a_refused_connection_ends),
		T(a_broken_client_resets_the_guest),
		T(bytes_before_a_reset_reach_the_guest),
		T(a_reset_after_a_half_close_is_noticed),
		T(a_reset_while_its_bytes_find_no_room_is_noticed),
		T(a_reset_before_there_is_a_link_is_noticed),
		T(a_unix_client_that_goes_before_there_is_a_link_is_not_kept),
		T(an_urgent_byte_stays_in_line),
		T(a_side_that_does_not_read_holds_the_other_back),
		T(a_command_ends_with_its_client_though_its_input_is_stuck),
		T(streams_survive_a_lost_carrier),
		T(a_new_guest_agent_resets_streams_and_takes_new_ones),
		T(without_a_machine_the_link_is_not_made),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
