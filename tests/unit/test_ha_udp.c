/* UDP ports of the host agent: real clients, and a guest of the test at the other end of the channel. */
#include "tests/unit/ha_peer.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include "lib/dgram.h"
#include "limactl-c/hostagent/udp.h"

static struct peer p;
static struct udp *udp;
static struct udp_port *port;
static struct tally *tally; /* of port */
static struct sockaddr_in at; /* where port listens */
static int one, two;          /* clients */
static const struct ap_open guest = { .kind = AP_OPEN_UDP, .family = 4, .addr = { 127, 0, 0, 1 }, .port = 7 };

static struct udp_port *listen_at(const struct sockaddr_in *in, struct err *e)
{
	struct ap_port host = { .proto = AP_UDP, .family = 4, .port = ntohs(in->sin_port) };

	memcpy(host.addr, &in->sin_addr, 4);
	return udp_listen(udp, tally, &host, &guest, e);
}

/* A socket whose peer is address, or any for INADDR_ANY. */
static int bound(uint32_t address, struct sockaddr_in *in)
{
	socklen_t len = sizeof(*in);
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	*in = (struct sockaddr_in){ .sin_family = AF_INET, .sin_addr.s_addr = htonl(address) };
	assert_int_equal(bind(fd, (struct sockaddr *)in, sizeof(*in)), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)in, &len), 0);
	return fd;
}

static int client(const struct sockaddr_in *to)
{
	struct sockaddr_in own;
	int fd = bound(INADDR_LOOPBACK, &own);

	assert_int_equal(connect(fd, (const struct sockaddr *)to, sizeof(*to)), 0);
	return fd;
}

static int begin_at(uint32_t address)
{
	struct err e = { 0 };
	int fd = bound(address, &at);

	close(fd);
	peer_begin(&p);
	udp = udp_new(p.loop, p.guest);
	tally = tally_new();
	port = listen_at(&at, &e);
	assert_non_null(port);
	at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	one = client(&at);
	two = client(&at);
	peer_link(&p);
	return 0;
}

static int begin(void **state)
{
	(void)state;
	return begin_at(INADDR_LOOPBACK);
}

static int begin_everywhere(void **state)
{
	(void)state;
	return begin_at(INADDR_ANY);
}

static int begin_hasty(void **state)
{
	(void)state;
	setenv("LIMACTL_C_UDP_IDLE_SECONDS", "1", 1);
	return begin_at(INADDR_LOOPBACK);
}

static int end(void **state)
{
	(void)state;
	unsetenv("LIMACTL_C_UDP_IDLE_SECONDS");
	udp_close(port);
	udp_free(udp);
	tally_drop(tally);
	peer_end(&p);
	close(one);
	close(two);
	return 0;
}

static int waiting;

static bool has_answer(struct peer *peer)
{
	struct pollfd f = { .fd = waiting, .events = POLLIN };

	(void)peer;
	return poll(&f, 1, 0) == 1;
}

static void hears(int fd, const char *text)
{
	char got[100];
	ssize_t n;

	waiting = fd;
	peer_run(&p, has_answer);
	n = recv(fd, got, sizeof(got), 0);
	assert_int_equal(n, strlen(text));
	assert_memory_equal(got, text, strlen(text));
}

static void put(int fd, const char *text)
{
	assert_int_equal(send(fd, text, strlen(text), 0), strlen(text));
	peer_run(&p, peer_rounds);
}

static void each_client_gets_what_is_its_own(void **state)
{
	(void)state;
	put(one, "first");
	put(two, "second");
	put(two, "");
	put(one, "third");
	hears(two, "second");
	hears(two, "");
	hears(one, "first");
	hears(one, "third");
	assert_int_equal(p.opened, 2);
	assert_int_equal(p.last_open.kind, AP_OPEN_UDP);
	assert_int_equal(p.last_open.port, 7);
	assert_int_equal(tally->now, 2);
	assert_int_equal(tally->in, 4);
	assert_int_equal(tally->to_guest, 16);
	assert_int_equal(tally->out, 4);
	assert_int_equal(tally->to_host, 16);
	assert_int_equal(tally->dropped, 0);
}

static void the_answer_leaves_from_the_address_that_was_asked(void **state)
{
	struct sockaddr_in other = at;
	int fd;

	(void)state;
	other.sin_addr.s_addr = htonl(INADDR_LOOPBACK + 1);
	fd = client(&other);
	put(fd, "other");
	hears(fd, "other");
	put(one, "usual");
	hears(one, "usual");
	close(fd);
}

static bool no_flows(struct peer *peer)
{
	(void)peer;
	return tally->now == 0;
}

static void a_guest_that_ends_or_breaks_a_stream_loses_it(void **state)
{
	(void)state;
	p.mode = PEER_HOLD;
	put(one, "a");
	assert_int_equal(tally->now, 1);
	mux_write(p.last, "\xff\xff", 2); /* longer than a datagram can be */
	peer_run(&p, no_flows);
	peer_run(&p, peer_rounds);
	assert_int_equal(p.last_code, MUX_RESET_PROTOCOL);
	put(one, "b");
	mux_write(p.last, "\5\0ab", 4); /* a part of one, and the end */
	mux_finish(p.last);
	peer_run(&p, peer_rounds);
	mux_reset(p.last, MUX_RESET_ABORT);
	peer_run(&p, no_flows);
	put(one, "c");
	mux_finish(p.last); /* the end alone */
	peer_run(&p, no_flows);
	put(one, "d");
	mux_reset(p.last, MUX_RESET_ABORT);
	p.last = NULL;
	peer_run(&p, no_flows);
	/* The next datagram makes another each time. */
	p.mode = PEER_ECHO;
	put(one, "e");
	hears(one, "e");
}

static void a_guest_that_refuses_is_asked_once_a_datagram(void **state)
{
	(void)state;
	p.mode = PEER_REFUSE;
	for (size_t i = 1; i <= 5; i++) {
		put(one, "a");
		assert_int_equal(p.opened, i);
		assert_int_equal(tally->now, 0);
	}
	p.mode = PEER_ECHO;
	put(one, "b");
	hears(one, "b");
}

static void one_that_is_stalled_holds_up_nobody(void **state)
{
	static char large[60000];
	struct mux_stream *stalled;

	(void)state;
	p.mode = PEER_HOLD;
	for (int i = 0; i < 20; i++) {
		assert_int_equal(send(one, large, sizeof(large), 0), sizeof(large));
		peer_run(&p, peer_rounds);
	}
	stalled = p.last;
	assert_non_null(stalled);
	assert_int_equal(tally->in, MUX_WINDOW / sizeof(large));
	assert_int_equal(tally->in + tally->dropped, 20);
	p.mode = PEER_ECHO;
	put(two, "here");
	hears(two, "here");
}

static uint64_t expected;

static bool all_were_read(struct peer *peer)
{
	(void)peer;
	return tally->in + tally->dropped == expected;
}

static void a_crowd_at_a_guest_that_stands_still_shares_the_room(void **state)
{
	enum { CROWD = 400, EACH = 4 };
	static char large[60000];
	static int crowd[CROWD];

	(void)state;
	p.mode = PEER_HOLD;
	for (int i = 0; i < CROWD; i++) {
		crowd[i] = client(&at);
		assert_int_equal(send(crowd[i], "a", 1, 0), 1);
	}
	expected = CROWD;
	peer_run(&p, all_were_read);
	assert_int_equal(tally->now, CROWD);
	for (int i = 0; i < CROWD; i++) {
		for (int k = 0; k < EACH; k++)
			assert_int_equal(send(crowd[i], large, sizeof(large), 0), sizeof(large));
		expected += EACH;
		peer_run(&p, all_were_read);
	}
	/* 32 MiB for all is 80 KiB for each: there is room for one, and one more may begin within it. */
	assert_int_equal(tally->in, CROWD + 2 * CROWD);
	assert_int_equal(tally->dropped, (EACH - 2) * CROWD);
	for (int i = 0; i < CROWD; i++)
		close(crowd[i]);
}

static unsigned rounds;

static void count_round(void *ctx)
{
	rounds++;
	peer_before_wait(ctx);
}

static void an_answer_to_a_client_that_is_gone_costs_nothing(void **state)
{
	(void)state;
	p.mode = PEER_HOLD;
	put(one, "a");
	close(one);
	for (int i = 0; i < 10; i++)
		mux_write(p.last, "\1\0b", 3); /* the host refuses each */
	loop_before_wait(p.loop, count_round, &p);
	peer_run(&p, peer_rounds);
	/* Ten turns of the test's own clock, and what it takes for the answers to come. */
	assert_in_range(rounds, 1, 40);
	assert_int_equal(tally->out + tally->dropped, 10);
	one = client(&at);
	p.mode = PEER_ECHO;
	put(two, "b");
	hears(two, "b");
}

static void without_a_link_there_is_no_flow(void **state)
{
	(void)state;
	p.reachable = false;
	peer_cut(&p);
	peer_run(&p, peer_rounds);
	put(one, "lost");
	assert_int_equal(tally->now, 0);
	assert_int_equal(tally->dropped, 1);
	p.reachable = true;
	peer_run(&p, peer_is_up);
	put(one, "heard");
	hears(one, "heard");
	/* An agent that knows nothing of the streams. */
	peer_new_agent(&p);
	peer_run(&p, no_flows);
	peer_run(&p, peer_is_up);
	put(one, "again");
	hears(one, "again");
}

static void a_quiet_flow_ends(void **state)
{
	size_t resets = p.resets;

	(void)state;
	put(one, "a");
	hears(one, "a");
	assert_int_equal(tally->total, 1);
	peer_run(&p, no_flows);
	peer_run(&p, peer_rounds);
	assert_int_equal(p.resets, resets + 1);
	put(one, "b");
	hears(one, "b");
}

/* It takes nothing from the carrier. */
static void freeze(bool on)
{
	watch_set(p.watch, on ? 0 : WATCH_READ);
}

/* What waits for a guest that stands still ends with its flow. */
static void a_flow_the_guest_never_heard_of_leaves_nothing_behind(void **state)
{
	static char large[60000];

	(void)state;
	freeze(true);
	for (int i = 0; i < 10; i++)
		assert_int_equal(send(i % 2 ? one : two, large, sizeof(large), 0), sizeof(large));
	expected = tally->in + 10;
	peer_run(&p, all_were_read);
	assert_int_equal(tally->dropped, 2);
	peer_run(&p, no_flows);
	assert_int_equal(mux_count(guest_silence(p.guest)->mux), 0);
	freeze(false);
	put(one, "b");
	hears(one, "b");
}

static bool is_not_behind(struct peer *peer)
{
	return !guest_is_behind(peer->guest);
}

/* Room in the queue is kept for those who wait. */
static void a_guest_that_is_behind_gets_no_new_flows(void **state)
{
	(void)state;
	put(one, "known");
	hears(one, "known");
	freeze(true);
	while (!guest_is_behind(p.guest))
		assert_int_equal(guest_send_time(p.guest), 0);
	put(two, "new");
	put(one, "known");
	assert_int_equal(tally->now, 1);
	assert_int_equal(tally->dropped, 1);
	assert_int_equal(tally->in, 2);
	freeze(false);
	hears(one, "known");
	peer_run(&p, is_not_behind);
	put(two, "new");
	hears(two, "new");
}

static void a_port_moves_and_is_not_shared(void **state)
{
	struct ap_open other = guest;
	struct err e = { 0 };

	(void)state;
	assert_null(listen_at(&at, &e));
	assert_int_equal(e.errnum, EADDRINUSE);
	put(one, "a");
	hears(one, "a");
	other.port = 8;
	udp_retarget(port, &other);
	assert_int_equal(tally->now, 0);
	put(one, "b");
	hears(one, "b");
	assert_int_equal(p.last_open.port, 8);
	udp_close(port);
	port = listen_at(&at, &e);
	assert_non_null(port);
}

int main(void)
{
#define T(fn) cmocka_unit_test_setup_teardown(fn, begin, end)
	const struct CMUnitTest tests[] = {
		T(each_client_gets_what_is_its_own),
		cmocka_unit_test_setup_teardown(the_answer_leaves_from_the_address_that_was_asked, begin_everywhere, end),
		T(a_guest_that_ends_or_breaks_a_stream_loses_it),
		T(a_guest_that_refuses_is_asked_once_a_datagram),
		T(one_that_is_stalled_holds_up_nobody),
		T(a_crowd_at_a_guest_that_stands_still_shares_the_room),
		T(an_answer_to_a_client_that_is_gone_costs_nothing),
		T(without_a_link_there_is_no_flow),
		cmocka_unit_test_setup_teardown(a_quiet_flow_ends, begin_hasty, end),
		cmocka_unit_test_setup_teardown(a_flow_the_guest_never_heard_of_leaves_nothing_behind, begin_hasty, end),
		T(a_guest_that_is_behind_gets_no_new_flows),
		T(a_port_moves_and_is_not_shared),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
