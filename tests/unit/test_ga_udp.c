/* UDP streams of the guest agent: the daemon in a child process, plain sockets as servers of its guest. */
#include "tests/unit/ga_host.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include "lib/dgram.h"

static struct host host;
static struct dgram d;

static int begin(void **state)
{
	(void)state;
	host_begin_with(&host, "");
	return 0;
}

static int end(void **state)
{
	(void)state;
	host_end(&host);
	return 0;
}

/* A server of 127.0.0.1 or ::1, and the request that reaches it; port 0: a new one. */
static int serve(int family, struct ap_open *o, uint16_t port)
{
	struct sockaddr_in6 in6 = { .sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT };
	struct sockaddr_in in = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct sockaddr *sa = family == AF_INET ? (struct sockaddr *)&in : (struct sockaddr *)&in6;
	socklen_t len = family == AF_INET ? sizeof(in) : sizeof(in6);
	int fd = socket(family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	in.sin_port = in6.sin6_port = htons(port);
	assert_int_equal(bind(fd, sa, len), 0);
	assert_int_equal(getsockname(fd, sa, &len), 0);
	*o = (struct ap_open){ .kind = AP_OPEN_UDP, .family = family == AF_INET ? 4 : 6 };
	memcpy(o->addr, family == AF_INET ? (void *)&in.sin_addr : (void *)&in6.sin6_addr, family == AF_INET ? 4 : 16);
	o->port = ntohs(family == AF_INET ? in.sin_port : in6.sin6_port);
	return fd;
}

/* A stream that is read by dgram_read() of the test. */
static void open_flow(struct peer *p, const struct ap_open *o)
{
	peer_open(&host, p, o);
	p->hold = true;
}

static void put(struct peer *p, size_t len, int fill)
{
	d.len = len;
	memset(dgram_payload(&d), fill, len);
	host_until(&host, p->s && dgram_write(p->s, &d) == DGRAM_DONE);
}

/* The server's next datagram, and in *from who sent it. */
static void arrives(int fd, size_t len, int fill, struct sockaddr_storage *from)
{
	static uint8_t got[65536];
	socklen_t n = sizeof(*from);
	ssize_t k = -1;

	host_until(&host, (k = recvfrom(fd, got, sizeof(got), 0, (struct sockaddr *)from, &n)) >= 0);
	assert_int_equal(k, len);
	for (size_t i = 0; i < len; i++)
		assert_int_equal(got[i], fill);
}

static void answer(int fd, const struct sockaddr_storage *to, size_t len, int fill)
{
	static uint8_t data[65536];

	memset(data, fill, len);
	assert_int_equal(sendto(fd, data, len, 0, (const struct sockaddr *)to,
				to->ss_family == AF_INET ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6)), len);
}

static void comes_back(struct peer *p, size_t len, int fill)
{
	host_until(&host, p->s && dgram_read(p->s, &d) == DGRAM_DONE);
	assert_int_equal(d.len, len);
	for (size_t i = 0; i < len; i++)
		assert_int_equal(dgram_payload(&d)[i], fill);
}

static void datagrams_go_both_ways_as_they_are(void **state)
{
	static const size_t sizes[] = { 0, 1, 512, 1472, 9000, 65507, 0 };
	static const int families[] = { AF_INET, AF_INET6 };

	(void)state;
	for (int f = 0; f < 2; f++) {
		struct sockaddr_storage one, two;
		struct peer first, second;
		struct ap_open o;
		int fd = serve(families[f], &o, 0);

		open_flow(&first, &o);
		open_flow(&second, &o);
		for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
			put(&first, sizes[i], '1');
			arrives(fd, sizes[i], '1', &one);
			put(&second, sizes[i], '2');
			arrives(fd, sizes[i], '2', &two);
			answer(fd, &two, sizes[i], 'B');
			answer(fd, &one, sizes[i], 'A');
			comes_back(&first, sizes[i], 'A');
			comes_back(&second, sizes[i], 'B');
		}
		mux_finish(first.s);
		host_until(&host, first.closed);
		mux_reset(second.s, MUX_RESET_ABORT);
		close(fd);
	}
}

static void a_server_is_found_when_it_is_back(void **state)
{
	struct sockaddr_storage from;
	struct peer p, other;
	struct ap_open o;
	int other_fd = serve(AF_INET, &o, 0), fd;
	uint16_t port;

	(void)state;
	open_flow(&other, &o);
	fd = serve(AF_INET, &o, 0);
	port = o.port;
	open_flow(&p, &o);
	put(&p, 5, 'a');
	arrives(fd, 5, 'a', &from);
	for (int round = 0; round < 10; round++) {
		close(fd);
		put(&p, 7, 'b'); /* refused: nobody listens until what was put behind it has come */
		put(&other, 1, 'o');
		arrives(other_fd, 1, 'o', &from);
		fd = serve(AF_INET, &o, port);
		/* The first datagram that somebody can hear is heard: the refusal is not told in its place. */
		put(&p, 5, 'c');
		arrives(fd, 5, 'c', &from);
		answer(fd, &from, 3, 'd');
		comes_back(&p, 3, 'd');
	}
	close(other_fd);
	close(fd);
	assert_false(p.reset);
}

/* The channel is not read: what the server sends waits in the kernel or is lost there, and then goes on. */
static void what_finds_no_room_is_dropped(void **state)
{
	struct sockaddr_storage from;
	struct peer p;
	struct ap_open o;
	unsigned got = 0;
	int fd = serve(AF_INET, &o, 0);

	(void)state;
	open_flow(&p, &o);
	put(&p, 1, 'a');
	arrives(fd, 1, 'a', &from);
	for (int i = 0; i < 100; i++) {
		answer(fd, &from, 60000, 'b');
		host_turn(&host, 1);
	}
	/* Another is lost only where others wait, which come: once one comes, it is behind all there was. */
	for (;;) {
		answer(fd, &from, 3, 'c');
		host_until(&host, dgram_read(p.s, &d) == DGRAM_DONE);
		if (d.len == 3)
			break;
		assert_int_equal(d.len, 60000);
		assert_true(++got < 100);
	}
	assert_memory_equal(dgram_payload(&d), "ccc", 3);
	/* A window of the channel at least. */
	assert_true(got >= MUX_WINDOW / 65536);
	close(fd);
}

static void a_length_that_cannot_be_resets_the_stream(void **state)
{
	struct peer p;
	struct ap_open o;
	int fd = serve(AF_INET, &o, 0);

	(void)state;
	open_flow(&p, &o);
	peer_write(&p, "\xff\xff", 2);
	host_until(&host, p.reset);
	assert_int_equal(p.code, MUX_RESET_PROTOCOL);
	close(fd);
}

int main(void)
{
#define T(fn) cmocka_unit_test_setup_teardown(fn, begin, end)
	const struct CMUnitTest tests[] = {
		T(datagrams_go_both_ways_as_they_are),
		T(a_server_is_found_when_it_is_back),
		T(what_finds_no_room_is_dropped),
		T(a_length_that_cannot_be_resets_the_stream),
	};

	return cmocka_run_group_tests_name("ga_udp", tests, NULL, NULL);
}
