/* The relay between a connection of the host and a stream of the guest. */
#include "tests/unit/ha_peer.h"

static struct peer p;
static int client; /* the test's end of the connection */
static const uint8_t *request;
static size_t request_len;
static bool job; /* the connection is a command's */

static int begin(void **state)
{
	static uint8_t bytes[64];
	struct ap_open o = { .kind = AP_OPEN_TCP, .family = 4, .addr = { 127, 0, 0, 1 }, .port = 80 };

	(void)state;
	request_len = (size_t)ap_open_pack(&o, bytes, sizeof(bytes));
	request = bytes;
	job = false;
	peer_begin(&p);
	return 0;
}

static int end(void **state)
{
	(void)state;
	close(client);
	peer_end(&p);
	return 0;
}

static void connect_client(const char *early)
{
	int fds[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
	client = fds[0];
	io_set_nonblock(client, true);
	conn_start(p.conns, fds[1], job, request, request_len, early, strlen(early));
}

static bool client_ready(struct peer *peer)
{
	struct pollfd f = { .fd = client, .events = POLLIN };

	(void)peer;
	return poll(&f, 1, 0) == 1;
}

/* The next bytes the client gets; "" at the end, "!" after a reset. */
static const char *client_read(void)
{
	static char buf[100];
	ssize_t k;

	peer_run(&p, client_ready);
	k = read(client, buf, sizeof(buf) - 1);
	if (k < 0)
		return "!";
	buf[k] = '\0';
	return buf;
}

static bool no_conns(struct peer *peer)
{
	return conns_count(peer->conns) == 0;
}

static bool guest_has_stream(struct peer *peer)
{
	return peer->last;
}

static bool guest_saw_reset(struct peer *peer)
{
	return peer->resets;
}

static void bytes_go_both_ways_and_ends_travel(void **state)
{
	(void)state;
	guest_connect(p.guest);
	peer_run(&p, peer_is_up);
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

static void the_guest_may_end_first(void **state)
{
	(void)state;
	p.mode = PEER_COLLECT;
	guest_connect(p.guest);
	connect_client("");
	peer_run(&p, guest_has_stream);
	mux_write(p.last, "greeting", 8);
	mux_finish(p.last);
	assert_string_equal(client_read(), "greeting");
	assert_string_equal(client_read(), "");
	assert_int_equal(write(client, "still", 5), 5);
	peer_run(&p, peer_rounds);
	assert_int_equal(p.got, 5);
	assert_int_equal(conns_count(p.conns), 1);
	close(client);
	client = -1;
	peer_run(&p, no_conns);
	assert_int_equal(p.resets, 0);
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
	guest_connect(p.guest);
	connect_client("");
	peer_run(&p, guest_has_stream);
	/* Unread bytes make the close of a unix socket a reset. */
	mux_write(p.last, "unread", 6);
	peer_run(&p, client_ready);
	close(client);
	client = -1;
	peer_run(&p, guest_saw_reset);
	assert_int_equal(p.last_code, MUX_RESET_ABORT);
	assert_int_equal(conns_count(p.conns), 0);
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

static bool all_arrived(struct peer *peer)
{
	return peer->got == pushed;
}

static void a_side_that_does_not_read_holds_the_other_back(void **state)
{
	(void)state;
	p.mode = PEER_HOLD;
	guest_connect(p.guest);
	connect_client("");
	peer_run(&p, guest_has_stream);
	pushed = 0;
	peer_run(&p, client_is_stuck);
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
	guest_connect(p.guest);
	connect_client("");
	peer_run(&p, guest_has_stream);
	pushed = 0;
	peer_run(&p, client_is_stuck);
	close(client);
	client = -1;
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
	guest_connect(p.guest);
	connect_client("");
	peer_run(&p, guest_has_stream);
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
	guest_connect(p.guest);
	peer_run(&p, peer_is_up);
	guest_disconnect(p.guest);
	peer_run(&p, two_downs);
	peer_run(&p, peer_rounds);
	assert_false(guest_is_up(p.guest));
	connect_client("x");
	peer_run(&p, peer_rounds);
	guest_connect(p.guest);
	assert_string_equal(client_read(), "x");
}

static void the_time_is_told(void **state)
{
	uint64_t ns = 0;

	(void)state;
	guest_connect(p.guest);
	peer_run(&p, peer_is_up);
	assert_int_equal(guest_send_time(p.guest), 0);
	peer_run(&p, peer_rounds);
	assert_int_equal(p.last_message_len, 8);
	for (int i = 7; i >= 0; i--)
		ns = ns << 8 | p.last_message[i];
	assert_true(ns / 1000000000u - (uint64_t)time(NULL) + 2 < 4);
}

int main(void)
{
#define T(fn) cmocka_unit_test_setup_teardown(fn, begin, end)
	const struct CMUnitTest tests[] = {
		T(bytes_go_both_ways_and_ends_travel),
		T(the_guest_may_end_first),
		T(a_connection_waits_for_the_link),
		T(a_refused_connection_ends),
		T(a_broken_client_resets_the_guest),
		T(a_side_that_does_not_read_holds_the_other_back),
		T(a_command_ends_with_its_client_though_its_input_is_stuck),
		T(streams_survive_a_lost_carrier),
		T(a_new_guest_agent_resets_streams_and_takes_new_ones),
		T(without_a_machine_the_link_is_not_made),
		T(the_time_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
