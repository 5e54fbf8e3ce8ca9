/* Relays of the guest agent: the daemon in a child process, plain sockets as its guest. */
#include "tests/unit/ga_host.h"

#include <arpa/inet.h>
#include <netinet/in.h>

static struct host host;

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

/* A listening TCP socket of the test and the request that reaches it. */
static int listen_tcp(int family, struct ap_open *o)
{
	struct sockaddr_in in = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct sockaddr_in6 in6 = { .sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT };
	struct sockaddr_storage ss;
	socklen_t len = sizeof(ss);
	struct err e;
	int fd;

	memset(o, 0, sizeof(*o));
	o->kind = AP_OPEN_TCP;
	o->family = family == AF_INET ? 4 : 6;
	if (family == AF_INET) {
		memcpy(o->addr, &in.sin_addr, 4);
		fd = sock_listen_tcp((struct sockaddr *)&in, sizeof(in), &e);
	} else {
		memcpy(o->addr, &in6.sin6_addr, 16);
		fd = sock_listen_tcp((struct sockaddr *)&in6, sizeof(in6), &e);
	}
	assert_true(fd >= 0);
	io_set_nonblock(fd, false);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&ss, &len), 0);
	/* the port is at the same place in both families */
	o->port = ntohs(((struct sockaddr_in *)&ss)->sin_port);
	return fd;
}

static int listen_unix(struct ap_open *o)
{
	struct err e;
	int fd;

	memset(o, 0, sizeof(*o));
	o->kind = AP_OPEN_UNIX;
	snprintf(o->path, sizeof(o->path), "%s/target", host.dir);
	unlink(o->path);
	fd = sock_listen_unix(o->path, 0600, &e);
	assert_true(fd >= 0);
	io_set_nonblock(fd, false);
	return fd;
}

/* Accepts while the channel runs. */
static int take(int listener)
{
	struct pollfd pfd = { .fd = listener, .events = POLLIN };
	int fd;

	host_until(&host, poll(&pfd, 1, 0) == 1);
	fd = accept(listener, NULL, NULL);
	assert_true(fd >= 0);
	io_set_nonblock(fd, true);
	return fd;
}

/* The next bytes of the socket, "" at its end; waits while the channel runs. */
static const char *receive(int fd)
{
	static char text[1000];
	ssize_t n = -1;

	host_until(&host, (n = recv(fd, text, sizeof(text) - 1, 0)) >= 0 || errno != EAGAIN);
	if (n < 0)
		return errno == ECONNRESET ? "reset" : "error";
	text[n] = '\0';
	return text;
}

static int connect_through(int listener, const struct ap_open *o, struct peer *p)
{
	peer_open(&host, p, o);
	p->keep = true;
	return take(listener);
}

static void half_close(int listener, const struct ap_open *o)
{
	struct peer p;
	int fd = connect_through(listener, o, &p);

	/* the guest's program ends first, and still hears us */
	peer_write(&p, "one", 3);
	assert_string_equal(receive(fd), "one");
	assert_int_equal(send(fd, "two", 3, 0), 3);
	shutdown(fd, SHUT_WR);
	host_until(&host, p.end);
	assert_string_equal(p.got.data, "two");
	peer_write(&p, "three", 5);
	assert_string_equal(receive(fd), "three");
	mux_finish(p.s);
	assert_string_equal(receive(fd), "");
	host_until(&host, p.closed);
	close(fd);
	buf_free(&p.got);

	/* we end first, and still hear it */
	fd = connect_through(listener, o, &p);
	mux_finish(p.s);
	assert_string_equal(receive(fd), "");
	assert_int_equal(send(fd, "late", 4, 0), 4);
	host_until(&host, p.got.len == 4);
	assert_false(p.end);
	close(fd);
	host_until(&host, p.closed);
	assert_string_equal(p.got.data, "late");
	buf_free(&p.got);
}

static void half_close_of_each_kind(void **state)
{
	struct ap_open o;
	int fd;

	(void)state;
	fd = listen_tcp(AF_INET, &o);
	half_close(fd, &o);
	close(fd);
	fd = listen_tcp(AF_INET6, &o);
	half_close(fd, &o);
	close(fd);
	fd = listen_unix(&o);
	half_close(fd, &o);
	close(fd);
}

static void reset_by_the_guest_arrives(void **state)
{
	struct ap_open o;
	struct peer p;
	int listener = listen_tcp(AF_INET, &o), fd;

	(void)state;
	/* as soon as it was accepted, after an exchange, and while we write */
	for (int i = 0; i < 3; i++) {
		fd = connect_through(listener, &o, &p);
		if (i) {
			peer_write(&p, "ping", 4);
			assert_string_equal(receive(fd), "ping");
		}
		sock_reset_on_close(fd);
		if (i == 2)
			peer_write(&p, "lost", 4);
		close(fd);
		host_until(&host, p.reset || p.closed || p.end);
		assert_true(p.reset);
		assert_int_equal(p.code, MUX_RESET_ABORT);
	}
	close(listener);
}

static void reset_by_the_host_arrives(void **state)
{
	struct ap_open o;
	struct peer p;
	int listener = listen_tcp(AF_INET, &o), fd = connect_through(listener, &o, &p);

	(void)state;
	mux_reset(p.s, MUX_RESET_ABORT);
	assert_string_equal(receive(fd), "reset");
	close(fd);
	close(listener);
}

static void bytes_before_a_reset_arrive(void **state)
{
	struct ap_open o;
	struct peer p;
	int listener = listen_tcp(AF_INET, &o), fd = connect_through(listener, &o, &p);

	(void)state;
	sock_reset_on_close(fd);
	assert_int_equal(send(fd, "last", 4, 0), 4);
	close(fd);
	host_until(&host, p.reset);
	assert_int_equal(p.got.len, 4);
	assert_memory_equal(p.got.data, "last", 4);
	buf_free(&p.got);

	/* and the other way, with the opening just before them */
	peer_open(&host, &p, &o);
	peer_write(&p, "first and last", 14);
	mux_abort(p.s, MUX_RESET_ABORT);
	fd = take(listener);
	assert_string_equal(receive(fd), "first and last");
	assert_string_equal(receive(fd), "reset");
	close(fd);
	close(listener);
}

/* Who writes to a server that has gone is told so; his bytes do not vanish for ever. */
static void writing_to_a_server_that_closed_is_a_reset(void **state)
{
	struct ap_open o;
	struct peer p;
	int listener = listen_tcp(AF_INET, &o), fd = connect_through(listener, &o, &p);

	(void)state;
	close(fd);
	host_until(&host, p.end);
	assert_false(p.reset);
	peer_write(&p, "anyone?", 7);
	host_until(&host, p.reset);
	close(listener);
}

/* A reset behind bytes that find no room is told at once, as a sender's own buffer is lost with it. */
static void a_reset_behind_a_full_window_arrives(void **state)
{
	static char chunk[65536];
	struct ap_open o;
	struct peer p;
	int listener = listen_tcp(AF_INET, &o), fd;

	(void)state;
	peer_open(&host, &p, &o);
	p.hold = true;
	fd = take(listener);
	for (int idle = 0; idle < 50;) {
		idle = send(fd, chunk, sizeof(chunk), 0) > 0 ? 0 : idle + 1;
		host_turn(&host, 1);
	}
	sock_reset_on_close(fd);
	close(fd);
	host_until(&host, p.reset);
	close(listener);
}

/* An urgent byte is relayed in its place in the stream. */
static void urgent_bytes_stay_in_line(void **state)
{
	struct ap_open o;
	struct peer p;
	int listener = listen_tcp(AF_INET, &o), fd = connect_through(listener, &o, &p);

	(void)state;
	assert_int_equal(send(fd, "ab", 2, 0), 2);
	assert_int_equal(send(fd, "!", 1, MSG_OOB), 1);
	assert_int_equal(send(fd, "cd", 2, 0), 2);
	host_until(&host, p.got.len == 5);
	assert_memory_equal(p.got.data, "ab!cd", 5);
	close(fd);
	mux_finish(p.s);
	host_until(&host, p.closed);
	buf_free(&p.got);
	close(listener);
}

static void refused_is_told(void **state)
{
	struct ap_open o;
	struct peer p;
	int listener = listen_tcp(AF_INET, &o);

	(void)state;
	close(listener);
	peer_open(&host, &p, &o);
	host_until(&host, p.reset);
	assert_int_equal(p.code, MUX_RESET_REFUSED);

	memset(&o, 0, sizeof(o));
	o.kind = AP_OPEN_UNIX;
	snprintf(o.path, sizeof(o.path), "%s/nobody", host.dir);
	peer_open(&host, &p, &o);
	host_until(&host, p.reset);
	assert_int_equal(p.code, MUX_RESET_REFUSED);

	/* a path that fits a request but no address */
	memset(o.path + 1, 'x', 500);
	peer_open(&host, &p, &o);
	host_until(&host, p.reset);
	assert_int_equal(p.code, MUX_RESET_REFUSED);
}

static void an_answer_survives_an_unread_request(void **state)
{
	static char big[128 * 1024];
	struct ap_open o;
	struct peer p;
	int listener = listen_unix(&o), fd = connect_through(listener, &o, &p);

	(void)state;
	/* The server answers "too large" and closes with the request unread, as HTTP servers do. */
	assert_int_equal(send(fd, "413", 3, 0), 3);
	shutdown(fd, SHUT_RDWR);
	host_until(&host, p.end);
	assert_string_equal(p.got.data, "413");
	peer_write(&p, big, sizeof(big));
	mux_finish(p.s);
	host_until(&host, p.closed);
	buf_free(&p.got);
	close(fd);
	close(listener);
}

/* Bytes that are the same at no two places. */
static void pattern(uint8_t *p, size_t n, uint32_t seed)
{
	for (size_t i = 0; i < n; i++) {
		seed = seed * 1664525 + 1013904223;
		p[i] = (uint8_t)(seed >> 24);
	}
}

static void bulk_both_ways_at_once(void **state)
{
	enum { BYTES = 32 << 20 };
	uint8_t *data = malloc(BYTES), *back = malloc(BYTES);
	size_t sent = 0, echoed = 0, got = 0;
	struct ap_open o;
	struct peer p;
	int listener = listen_tcp(AF_INET, &o), fd = connect_through(listener, &o, &p);

	(void)state;
	pattern(data, BYTES, 1);
	/* The guest's program sends what it gets back again; here that is this very loop. */
	while (p.got.len < BYTES) {
		ssize_t n;

		if (sent < BYTES) {
			sent += mux_write(p.s, data + sent, BYTES - sent);
			if (sent == BYTES)
				mux_finish(p.s);
		}
		if (got < BYTES && (n = recv(fd, back + got, BYTES - got, 0)) > 0)
			got += (size_t)n;
		if (echoed < got && (n = send(fd, back + echoed, got - echoed, MSG_NOSIGNAL)) > 0)
			echoed += (size_t)n;
		host_turn(&host, got < BYTES ? 0 : 5);
	}
	close(fd);
	host_until(&host, p.closed);
	assert_memory_equal(p.got.data, data, BYTES);
	buf_free(&p.got);
	free(data);
	free(back);
	close(listener);
}

static void a_slow_reader_holds_the_writer_back(void **state)
{
	static char chunk[65536];
	struct ap_open o;
	struct peer p, other;
	int listener = listen_tcp(AF_INET, &o), fd = connect_through(listener, &o, &p), fd2;
	size_t written = 0, idle = 0;

	(void)state;
	p.hold = true;
	p.keep = false;
	/* write until nothing moved for a while: window and socket buffers are full */
	while (idle < 50) {
		ssize_t n = send(fd, chunk, sizeof(chunk), 0);

		idle = n > 0 ? 0 : idle + 1;
		written += n > 0 ? (size_t)n : 0;
		host_for(&host, 2);
		assert_true(written < 64 << 20);
	}
	/* other streams go on */
	fd2 = connect_through(listener, &o, &other);
	assert_int_equal(send(fd2, "quick", 5, 0), 5);
	host_until(&host, other.got.len == 5);
	close(fd2);
	mux_finish(other.s);
	host_until(&host, other.closed);
	buf_free(&other.got);

	p.hold = false;
	peer_take(&p);
	close(fd);
	host_until(&host, p.end);
	assert_int_equal(p.count, written);
	mux_finish(p.s);
	host_until(&host, p.closed);
	close(listener);
}

static void many_at_once(void **state)
{
	enum { MANY = 300 };
	static struct peer p[MANY];
	static int fd[MANY];
	struct ap_open o;
	int listener = listen_unix(&o);

	(void)state;
	for (int i = 0; i < MANY; i++) {
		peer_open(&host, &p[i], &o);
		peer_write(&p[i], &i, sizeof(i));
	}
	for (int i = 0; i < MANY; i++)
		fd[i] = take(listener);
	for (int i = 0; i < MANY; i++) {
		int who = -1;

		host_until(&host, recv(fd[i], &who, sizeof(who), 0) == sizeof(who));
		assert_in_range(who, 0, MANY - 1);
		assert_int_equal(send(fd[i], &who, sizeof(who), 0), sizeof(who));
		p[who].keep = true;
		close(fd[i]);
	}
	for (int i = 0; i < MANY; i++) {
		host_until(&host, p[i].end);
		assert_memory_equal(p[i].got.data, &i, sizeof(i));
		mux_finish(p[i].s);
	}
	for (int i = 0; i < MANY; i++) {
		host_until(&host, p[i].closed);
		buf_free(&p[i].got);
	}
	assert_int_equal(mux_count(host.mux), 0);
	close(listener);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(half_close_of_each_kind),
		cmocka_unit_test(reset_by_the_guest_arrives),
		cmocka_unit_test(reset_by_the_host_arrives),
		cmocka_unit_test(bytes_before_a_reset_arrive),
		cmocka_unit_test(writing_to_a_server_that_closed_is_a_reset),
		cmocka_unit_test(a_reset_behind_a_full_window_arrives),
		cmocka_unit_test(urgent_bytes_stay_in_line),
		cmocka_unit_test(refused_is_told),
		cmocka_unit_test(an_answer_survives_an_unread_request),
		cmocka_unit_test(bulk_both_ways_at_once),
		cmocka_unit_test(a_slow_reader_holds_the_writer_back),
		cmocka_unit_test(many_at_once),
	};

	return cmocka_run_group_tests(tests, begin, end);
}
