/* SOCKS in the guest agent: the messages, and connections through a daemon in a child process. */
#include "tests/unit/ga_host.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/prctl.h>

#include "guestagent/socks_proto.h"

static struct host host;

static int begin(void **state)
{
	(void)state;
	host_begin_with(&host, "user.name=root\n");
	return 0;
}

static int end(void **state)
{
	(void)state;
	host_end(&host);
	return 0;
}

#define GREETING "\5\1\0"
#define REPLY(code) "\5" code "\0\1\0\0\0\0\0\0"

static void greetings(void **state)
{
	static const struct {
		const char *bytes;
		size_t n;
		ssize_t used;
		bool acceptable;
	} rows[] = {
		{ "\5\1\0", 3, 3, true },     { "\5\1\0x", 4, 3, true }, { "\5\3\1\2\0", 5, 5, true }, { "\5\1\2", 3, 3, false },
		{ "\5\0", 2, 2, false },      { "", 0, 0, false },       { "\5", 1, 0, false },        { "\5\2\0", 3, 0, false },
		{ "\4\1", 2, -1, false },     { "GET ", 4, -1, false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		bool acceptable = false;

		assert_int_equal(socks_greeting((const uint8_t *)rows[i].bytes, rows[i].n, &acceptable), rows[i].used);
		assert_int_equal(acceptable, rows[i].acceptable);
	}
}

static void requests(void **state)
{
	static const struct {
		const char *bytes;
		size_t n;
		ssize_t used;
		const char *host;
		uint16_t port;
		enum socks_reply refusal;
	} rows[] = {
		{ "\5\1\0\1\177\0\0\1\0\120", 10, 10, "127.0.0.1", 80, SOCKS_OK },
		{ "\5\1\0\1\177\0\0\1\0\120more", 14, 10, "127.0.0.1", 80, SOCKS_OK },
		{ "\5\1\0\1\177\0\0\1\0", 9, 0, "", 0, SOCKS_OK },
		{ "\5\1\0\3\1a\1\273", 8, 8, "a", 443, SOCKS_OK },
		{ "\5\1\0\3\1a\1", 7, 0, "", 0, SOCKS_OK },
		{ "\5\1\0\3", 4, 0, "", 0, SOCKS_OK },
		{ "\5\1\0\3\0\1\273", 7, 7, "", 443, SOCKS_FAILED },
		{ "\5\1\0\3\2a\0\1\273", 9, 9, "", 443, SOCKS_FAILED },
		{ "\5\1\0\3\1a\0\0", 8, 8, "a", 0, SOCKS_FAILED },
		{ "\5\1\0\4\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\1\0\120", 22, 22, "::1", 80, SOCKS_OK },
		{ "\5\2\0\1\177\0\0\1\0\120", 10, 10, "", 80, SOCKS_COMMAND },
		{ "\5\3\0\3\1a\1\273", 8, 8, "", 443, SOCKS_COMMAND },
		{ "\5\1\0\2\177\0", 6, 6, "", 0, SOCKS_ADDRESS },
		{ "\5\1\1", 3, -1, "", 0, SOCKS_OK },
		{ "\4\1", 2, -1, "", 0, SOCKS_OK },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct socks_request r;

		assert_int_equal(socks_request((const uint8_t *)rows[i].bytes, rows[i].n, &r), rows[i].used);
		assert_string_equal(r.host, rows[i].host);
		assert_int_equal(r.port, rows[i].port);
		assert_int_equal(r.refusal, rows[i].refusal);
	}
}

static void the_longest_name_fits(void **state)
{
	uint8_t p[SOCKS_MESSAGE_MAX] = { 5, 1, 0, 3, SOCKS_NAME_MAX };
	struct socks_request r;

	(void)state;
	memset(p + 5, 'n', SOCKS_NAME_MAX);
	p[SOCKS_MESSAGE_MAX - 1] = 7;
	assert_int_equal(socks_request(p, sizeof(p) - 1, &r), 0);
	assert_int_equal(socks_request(p, sizeof(p), &r), SOCKS_MESSAGE_MAX);
	assert_int_equal(strlen(r.host), SOCKS_NAME_MAX);
}

/* A client that says these n bytes; what comes back is kept. */
static void client(struct peer *p, const void *bytes, size_t n)
{
	peer_open(&host, p, &(struct ap_open){ .kind = AP_OPEN_SOCKS });
	p->keep = true;
	peer_write(p, bytes, n);
}

static void over(struct peer *p)
{
	if (p->s)
		mux_finish(p->s);
	host_until(&host, p->closed || p->reset);
	buf_free(&p->got);
}

/* A listening socket of 127.0.0.1, its port in the last two of these n bytes. */
static int listen_here(uint8_t *request, size_t n)
{
	struct sockaddr_in in = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(in);
	struct err e;
	int fd = sock_listen_tcp((struct sockaddr *)&in, sizeof(in), &e);

	assert_true(fd >= 0);
	io_set_nonblock(fd, false);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&in, &len), 0);
	memcpy(request + n - 2, &in.sin_port, 2);
	return fd;
}

static void connects(const char *request, size_t n)
{
	uint8_t bytes[100];
	struct peer p;
	char text[8] = "";
	int fd, c;

	memcpy(bytes, GREETING, 3);
	memcpy(bytes + 3, request, n);
	fd = listen_here(bytes, 3 + n);
	memcpy(bytes + 3 + n, "early", 5); /* before the answer, as a hasty client does */
	client(&p, bytes, 3 + n + 5);
	host_until(&host, p.got.len >= 12);
	assert_memory_equal(p.got.data, "\5\0" REPLY("\0"), 12);
	c = accept(fd, NULL, NULL);
	host_until(&host, recv(c, text, 5, MSG_PEEK | MSG_DONTWAIT) == 5);
	assert_int_equal(read(c, text, 5), 5);
	assert_string_equal(text, "early");
	assert_int_equal(write(c, "late", 4), 4);
	host_until(&host, p.got.len >= 16);
	assert_memory_equal(p.got.data + 12, "late", 4);
	/* One direction ends on its own. */
	mux_finish(p.s);
	host_until(&host, recv(c, text, 1, MSG_DONTWAIT) == 0);
	assert_int_equal(write(c, "last", 4), 4);
	close(c);
	host_until(&host, p.got.len >= 20 && (p.end || p.closed));
	over(&p);
	close(fd);
}

static void addresses_and_names(void **state)
{
	(void)state;
	connects("\5\1\0\1\177\0\0\1\0\0", 10);
	connects("\5\1\0\3\11localhost\0\0", 16);
	connects("\5\1\0\3\011127.0.0.1\0\0", 16);
}

static void refused(const char *bytes, size_t n, const char *answer, size_t len)
{
	struct peer p;

	client(&p, bytes, n);
	host_until(&host, p.end || p.reset);
	assert_int_equal(p.got.len, len);
	if (len)
		assert_memory_equal(p.got.data, answer, len);
	over(&p);
}

static void what_cannot_be_is_said(void **state)
{
	uint8_t nobody[] = GREETING "\5\1\0\1\177\0\0\1\0\0";

	(void)state;
	close(listen_here(nobody, 13));
	refused((const char *)nobody, 13, "\5\0" REPLY("\5"), 12);
	refused(GREETING "\5\2\0\1\177\0\0\1\0\120", 13, "\5\0" REPLY("\7"), 12);
	refused(GREETING "\5\1\0\2\177\0", 9, "\5\0" REPLY("\10"), 12);
	refused("\5\1\2", 3, "\5\377", 2);
	refused("GET / HTTP/1.1\r\n", 16, "", 0);
	refused(GREETING "\5\1\0\1\177\0\0\1\0\0", 13, "\5\0" REPLY("\1"), 12);
}

static void half_a_request_is_none(void **state)
{
	struct peer p;

	(void)state;
	client(&p, GREETING "\5\1\0\3", 7);
	mux_finish(p.s);
	host_until(&host, p.reset);
	assert_memory_equal(p.got.data, "\5\0", 2);
	over(&p);
}

static void who_leaves_in_between_leaves_nothing(void **state)
{
	struct peer p;

	(void)state;
	for (int i = 0; i < 2 * 256 + 10; i++) {
		/* A name whose look-up takes a while, if anything answers at all. */
		client(&p, GREETING "\5\1\0\3\11localhost\0\1", 3 + 16);
		mux_reset(p.s, MUX_RESET_ABORT);
		if (i % 16 == 0)
			host_turn(&host, 0);
		buf_free(&p.got);
	}
	host_for(&host, 50);
	connects("\5\1\0\3\11localhost\0\0", 16);
}

/* Whether somebody's connection to that port, as in a sockaddr, is under way. */
static bool is_connecting(uint16_t port)
{
	auto_buf text = BUF_INIT(1 << 20);
	char row[32];
	struct err e;

	snprintf(row, sizeof(row), " 0100007F:%04X 02 ", ntohs(port));
	return io_read_file("/proc/net/tcp", &text, &e) == 0 && text.len && strstr(text.data, row);
}

/* One that another user makes, while nobody takes it. */
static void a_connection_under_way_ends_with_the_agent(void **state)
{
	struct sockaddr_in there = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	uint8_t bytes[] = GREETING "\5\1\0\1\177\0\0\1\0\0";
	int fd = listen_here(bytes, 13), first = socket(AF_INET, SOCK_STREAM, 0), status = 0;
	struct host other;
	struct peer p;

	(void)state;
	memcpy(&there.sin_port, bytes + 11, 2);
	assert_int_equal(listen(fd, 0), 0);
	assert_int_equal(connect(first, (struct sockaddr *)&there, sizeof(there)), 0);
	assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
	host_begin_with(&other, "user.name=somebody\nuser.uid=65534\n");
	peer_open(&other, &p, &(struct ap_open){ .kind = AP_OPEN_SOCKS });
	peer_write(&p, bytes, 13);
	host_until(&other, is_connecting(there.sin_port));
	host_stop_agent(&other, SIGKILL);
	/* Its children are ours now; others of them end by themselves. */
	alarm(60);
	do
		assert_true(waitpid(-1, &status, 0) > 0);
	while (!WIFSIGNALED(status) || WTERMSIG(status) != SIGKILL);
	alarm(0);
	assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 0), 0);
	host_end(&other);
	close(first);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(greetings),
		cmocka_unit_test(requests),
		cmocka_unit_test(the_longest_name_fits),
		cmocka_unit_test(addresses_and_names),
		cmocka_unit_test(what_cannot_be_is_said),
		cmocka_unit_test(half_a_request_is_none),
		cmocka_unit_test(who_leaves_in_between_leaves_nothing),
		cmocka_unit_test(a_connection_under_way_ends_with_the_agent),
	};

	return cmocka_run_group_tests(tests, begin, end);
}
