/* The guest's name server with a host of the test's behind it, in a network namespace of its own. */
#include "tests/unit/ga_host.h"

#include <arpa/inet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "guestagent/dns_net.h"
#include "lib/dns_message.h"
#include "lib/dns_record.h"

static struct host h;
static volatile time_t *later; /* seconds that every clock is ahead, the agent's too */

/* In place of libc's. */
int clock_gettime(clockid_t id, struct timespec *ts)
{
	int rc = (int)syscall(SYS_clock_gettime, id, ts);

	ts->tv_sec += later ? *later : 0;
	return rc;
}

/* Bytes of a question of ours, of its record on the stream, and of all that may be there at once. */
enum { QUESTION = DNS_HEADER + 7, RECORD = DNS_RECORD_HEADER + QUESTION, ALL = DNS_IN_FLIGHT * RECORD };

static struct peer stream;
static const struct ap_open request = { .kind = AP_OPEN_DNS, .family = 4, .addr = { 10, 0, 2, 3 }, .port = DNS_PORT };
static const struct sockaddr_in server = { .sin_family = AF_INET, .sin_port = 0x3500, .sin_addr.s_addr = 0x0302000a };

/* There is a way to it. */
static bool is_served(void)
{
	int fd = socket(AF_INET, SOCK_DGRAM, 0);
	bool way = connect(fd, (const struct sockaddr *)&server, sizeof(server)) == 0;

	close(fd);
	return way;
}

static void open_stream(void)
{
	buf_free(&stream.got);
	peer_open(&h, &stream, &request);
	stream.keep = true;
	host_until(&h, is_served() || stream.reset);
	assert_false(stream.reset);
}

static int begin(void **state)
{
	(void)state;
	host_begin(&h);
	host_start_agent(&h);
	open_stream();
	return 0;
}

static int end(void **state)
{
	(void)state;
	buf_free(&stream.got);
	host_end(&h);
	return 0;
}

static int client(int type)
{
	int fd = socket(AF_INET, type | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	assert_int_equal(connect(fd, (const struct sockaddr *)&server, sizeof(server)), 0);
	return fd;
}

/* With the id as its number; room for a length before it. */
static size_t question(uint8_t *p, uint16_t id)
{
	static const uint8_t rest[] = { 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 1, 'a', 0, 0, 1, 0, 1 };

	p[0] = (uint8_t)(id >> 8);
	p[1] = (uint8_t)id;
	memcpy(p + 2, rest, sizeof(rest));
	return 2 + sizeof(rest);
}

static void ask(int fd, uint16_t id)
{
	uint8_t p[64];
	size_t n = question(p, id);

	assert_int_equal(send(fd, p, n, 0), n);
}

/* With ids from the first to the last place's, until no place is free. */
static void ask_all(int fd, uint16_t first)
{
	for (uint16_t i = first; i < DNS_IN_FLIGHT; i++)
		ask(fd, i);
	host_until(&h, stream.got.len == ALL);
}

static bool is_readable(int fd)
{
	struct pollfd f = { .fd = fd, .events = POLLIN };

	return poll(&f, 1, 0) == 1;
}

/* The next answer at a client. */
static void expect(int fd, uint16_t id, enum dns_rcode rcode)
{
	uint8_t p[600];

	host_until(&h, is_readable(fd));
	assert_true(recv(fd, p, sizeof(p), 0) >= DNS_HEADER);
	assert_int_equal(p[0] << 8 | p[1], id);
	assert_int_equal(dns_rcode_of(p), rcode);
}

/* The answer at a client by TCP begins with these six bytes. */
static void expect_tcp(int fd, const char *head)
{
	uint8_t p[66];

	host_until(&h, is_readable(fd));
	assert_int_equal(recv(fd, p, sizeof(p), 0), 2 + QUESTION);
	assert_memory_equal(p, head, 6);
}

/* Answers the first question that came, as one that does not exist. */
static void answer(void)
{
	uint8_t *p = (uint8_t *)stream.got.data;
	size_t n = DNS_RECORD_HEADER + (size_t)le16_get(p + 4);

	p[DNS_RECORD_HEADER + 2] |= 0x80;
	p[DNS_RECORD_HEADER + 3] |= DNS_NXDOMAIN;
	peer_write(&stream, p, n);
	buf_drop_front(&stream.got, n);
}

static void test_by_udp_and_by_tcp(void **state)
{
	uint8_t p[66] = { 0 };
	int udp = client(SOCK_DGRAM), tcp = client(SOCK_STREAM);

	(void)state;
	ask(udp, 7);
	host_until(&h, stream.got.len);
	answer();
	expect(udp, 7, DNS_NXDOMAIN);
	p[1] = (uint8_t)question(p + 2, 9);
	for (size_t i = 0; i < 2u + p[1]; i++)
		assert_int_equal(send(tcp, p + i, 1, 0), 1);
	host_until(&h, stream.got.len);
	answer();
	expect_tcp(tcp, "\0\x13\0\t\x81\x83");
	close(udp);
	close(tcp);
}

static void test_no_more_in_flight_than_agreed(void **state)
{
	int udp = client(SOCK_DGRAM);

	(void)state;
	ask_all(udp, 0);
	ask(udp, 1000);
	expect(udp, 1000, DNS_SERVFAIL);
	answer();
	expect(udp, 0, DNS_NXDOMAIN);
	ask(udp, 1001);
	host_until(&h, stream.got.len == ALL);
	close(udp);
}

static void test_a_place_whose_answer_never_comes_is_taken_back(void **state)
{
	int udp = client(SOCK_DGRAM), tcp = client(SOCK_STREAM);
	uint8_t p[66] = { 0 };

	(void)state;
	p[1] = (uint8_t)question(p + 2, 9);
	assert_int_equal(send(tcp, p, 2u + p[1], 0), 2 + p[1]);
	host_until(&h, stream.got.len == RECORD);
	ask_all(udp, 1);
	ask(udp, 1000);
	expect(udp, 1000, DNS_SERVFAIL);
	*later += 31;
	ask(udp, 1001);
	host_until(&h, stream.got.len == ALL + RECORD);
	/* Who asked first is told; what comes too late for it finds nobody. */
	expect_tcp(tcp, "\0\x13\0\t\x81\x82");
	answer();
	buf_drop_front(&stream.got, ALL - RECORD);
	answer();
	expect(udp, 1001, DNS_NXDOMAIN);
	assert_false(is_readable(tcp));
	close(udp);
	close(tcp);
}

static void test_answers_nobody_asked_for(void **state)
{
	uint8_t p[DNS_RECORD_HEADER + 3] = { 0 };
	int udp = client(SOCK_DGRAM);

	(void)state;
	for (uint32_t id = 0; id < 3; id++) {
		dns_record_pack(p, id * 0x7fffffff, 3);
		peer_write(&stream, p, sizeof(p));
	}
	ask(udp, 7);
	host_until(&h, stream.got.len);
	/* One that is no message. */
	dns_record_pack(p, le32_get((uint8_t *)stream.got.data), 3);
	peer_write(&stream, p, sizeof(p));
	expect(udp, 7, DNS_SERVFAIL);
	close(udp);
}

static void test_the_stream_ends(void **state)
{
	int udp = client(SOCK_DGRAM);

	(void)state;
	ask(udp, 7);
	host_until(&h, stream.got.len);
	mux_reset(stream.s, MUX_RESET_ABORT);
	/* Nothing of ours is in the way any more; another stream makes it new. */
	host_until(&h, !if_nametoindex(DNS_NET_CARD));
	close(udp);
	open_stream();
	udp = client(SOCK_DGRAM);
	ask(udp, 8);
	host_until(&h, stream.got.len);
	answer();
	expect(udp, 8, DNS_NXDOMAIN);
	close(udp);
}

/* The host agent is killed, of which the port of a virtual machine does not tell, with every place taken. */
static void test_another_host_agent_finds_every_place_free(void **state)
{
	int udp = client(SOCK_DGRAM);

	(void)state;
	ask_all(udp, 0);
	mux_free(h.mux);
	h.up = false;
	h.mux = mux_new(MUX_HOST, 1000, &host_ops, &h);
	assert_non_null(h.mux);
	mux_carrier_open(h.mux);
	/* It goes on when the guest has heard of it: who waits is told. */
	expect(udp, 0, DNS_SERVFAIL);
	host_until(&h, h.up && !if_nametoindex(DNS_NET_CARD));
	close(udp);
	open_stream();
	udp = client(SOCK_DGRAM);
	ask_all(udp, 0);
	close(udp);
}

/* As when it was killed and another adopts the machine, but that it is the same. */
static void test_the_host_leaves_and_is_there_again(void **state)
{
	int udp;

	(void)state;
	host_stop_agent(&h, SIGTERM);
	h.adopts = true;
	host_start_agent(&h);
	open_stream();
	for (int i = 0; i < 3; i++) {
		mux_carrier_lost(h.mux);
		close(h.fd);
		h.fd = -1;
		host_until(&h, !is_served());
		assert_true(if_nametoindex(DNS_NET_CARD));
		host_connect(&h);
		host_until(&h, is_served());
	}
	udp = client(SOCK_DGRAM);
	ask(udp, 7);
	host_until(&h, stream.got.len);
	answer();
	expect(udp, 7, DNS_NXDOMAIN);
	close(udp);
}

static void test_the_agent_is_killed(void **state)
{
	(void)state;
	host_stop_agent(&h, SIGKILL);
	host_until(&h, !if_nametoindex(DNS_NET_CARD));
	host_start_agent(&h);
}

/* A card of the namespace. */
static int up(const char *card)
{
	struct ifreq r = { 0 };
	int fd = socket(AF_INET, SOCK_DGRAM, 0), status;

	snprintf(r.ifr_name, sizeof(r.ifr_name), "%s", card);
	r.ifr_flags = IFF_UP;
	status = ioctl(fd, SIOCSIFFLAGS, &r);
	close(fd);
	return status;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_by_udp_and_by_tcp, begin, end),
		cmocka_unit_test_setup_teardown(test_no_more_in_flight_than_agreed, begin, end),
		cmocka_unit_test_setup_teardown(test_a_place_whose_answer_never_comes_is_taken_back, begin, end),
		cmocka_unit_test_setup_teardown(test_answers_nobody_asked_for, begin, end),
		cmocka_unit_test_setup_teardown(test_the_stream_ends, begin, end),
		cmocka_unit_test_setup_teardown(test_another_host_agent_finds_every_place_free, begin, end),
		cmocka_unit_test_setup_teardown(test_the_host_leaves_and_is_there_again, begin, end),
		cmocka_unit_test_setup_teardown(test_the_agent_is_killed, begin, end),
	};

	if (unshare(CLONE_NEWNET) < 0 || up("lo") < 0) {
		printf("1..0 # SKIP network namespaces need root\n");
		return 0;
	}
	later = mmap(NULL, sizeof(*later), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_true(later != MAP_FAILED);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
