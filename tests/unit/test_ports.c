/* The native kernel's own events and dumps: needs root and BPF, as the guest has them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "guestagent/ports.h"
#include "lib/clock.h"

static struct ap_ports changes;

/* In place of libc's: the kernel refuses the list of sockets. */
static bool no_dumps;

ssize_t send(int fd, const void *p, size_t n, int flags)
{
	if (no_dumps) {
		errno = ENOBUFS;
		return -1;
	}
	return sendto(fd, p, n, flags, NULL, 0);
}

static int bound(int family, int type)
{
	struct sockaddr_in6 six = { .sin6_family = AF_INET6 };
	struct sockaddr_in four = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(family, type | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	if (family == AF_INET6)
		assert_int_equal(bind(fd, (struct sockaddr *)&six, sizeof(six)), 0);
	else
		assert_int_equal(bind(fd, (struct sockaddr *)&four, sizeof(four)), 0);
	return fd;
}

/* A UDP socket on a port that is asked for by its number, one of those the kernel may choose when chosen. */
static int bound_udp(bool chosen, uint16_t *port)
{
	struct sockaddr_in sa = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	for (*port = chosen ? 45000 : 20000;; ++*port) {
		sa.sin_port = htons(*port);
		if (bind(fd, (struct sockaddr *)&sa, sizeof(sa)) == 0)
			return fd;
	}
}

static uint16_t port_of(int fd)
{
	struct sockaddr_in6 sa;
	socklen_t len = sizeof(sa);

	assert_int_equal(getsockname(fd, (struct sockaddr *)&sa, &len), 0);
	return ntohs(sa.sin6_port); /* at the same place for IPv4 */
}

/* Whether the list has one change for the port, and which. */
static int change_of(uint8_t proto, uint16_t port, uint8_t family)
{
	for (size_t i = 0; i < changes.count; i++) {
		if (changes.change[i].port.port == port && changes.change[i].port.proto == proto &&
		    changes.change[i].port.family == family)
			return changes.change[i].listening ? 1 : 0;
	}
	return -1;
}

static struct ports *fresh(void)
{
	struct err e = { 0 };
	struct ports *p = ports_new(&e);

	assert_non_null(p);
	assert_string_equal(ports_kind(p), "ebpf");
	assert_int_equal(ports_scan(p, &changes, &e), 0);
	assert_true(changes.snapshot);
	while (ports_pending(p))
		assert_int_equal(ports_scan(p, &changes, &e), 0);
	return p;
}

static void wait_event(struct ports *p)
{
	struct pollfd pfd = { .fd = ports_fd(p), .events = POLLIN };

	assert_int_equal(poll(&pfd, 1, 5000), 1);
	assert_true(ports_pending(p));
}

static void tells_tcp_when_it_listens_not_when_it_binds(void **state)
{
	static const int families[] = { AF_INET, AF_INET6 };
	struct err e = { 0 };
	struct ports *p = fresh();

	(void)state;
	for (int i = 0; i < 2; i++) {
		int fd = bound(families[i], SOCK_STREAM);
		uint16_t port = port_of(fd);

		assert_int_equal(listen(fd, 5), 0);
		wait_event(p);
		assert_int_equal(ports_scan(p, &changes, &e), 0);
		assert_false(changes.snapshot);
		assert_int_equal(change_of(AP_TCP, port, i ? 6 : 4), 1);
		close(fd);
		wait_event(p);
		assert_int_equal(ports_scan(p, &changes, &e), 0);
		assert_int_equal(change_of(AP_TCP, port, i ? 6 : 4), 0);
	}
	ports_free(p);
}

static void told_udp(bool chosen)
{
	struct err e = { 0 };
	struct ports *p = fresh();
	uint16_t port;
	int fd = bound_udp(chosen, &port);

	wait_event(p);
	assert_int_equal(ports_scan(p, &changes, &e), 0);
	assert_int_equal(change_of(AP_UDP, port, 4), 1);
	close(fd);
	wait_event(p);
	/* The release is told before the socket has left the table, so a second look may be due. */
	do
		assert_int_equal(ports_scan(p, &changes, &e), 0);
	while (change_of(AP_UDP, port, 4) != 0 && ports_interval(p) >= 0);
	assert_int_equal(change_of(AP_UDP, port, 4), 0);
	ports_free(p);
}

static void tells_udp(void **state)
{
	(void)state;
	told_udp(false);
	told_udp(true);
}

/* As a resolver has one for each question. */
static void a_udp_client_is_not_told(void **state)
{
	struct err e = { 0 };
	struct ports *p = fresh();
	int four = bound(AF_INET, SOCK_DGRAM), six = bound(AF_INET6, SOCK_DGRAM), server;
	uint16_t port;

	(void)state;
	server = bound_udp(true, &port);
	wait_event(p);
	assert_int_equal(ports_scan(p, &changes, &e), 0);
	assert_int_equal(change_of(AP_UDP, port, 4), 1);
	assert_int_equal(change_of(AP_UDP, port_of(four), 4), -1);
	assert_int_equal(change_of(AP_UDP, port_of(six), 6), -1);
	close(four);
	close(six);
	close(server);
	ports_free(p);
}

/* Whether a port was asked for by its number is not known of what was bound before; a server stays, a client goes. */
static void a_udp_server_that_was_there_before_is_told_later(void **state)
{
	struct err e = { 0 };
	uint16_t port;
	int server = bound_udp(true, &port), client = bound(AF_INET, SOCK_DGRAM), told = -1, ms;
	uint16_t other = port_of(client);
	struct ports *p = fresh();

	(void)state;
	ports_forget(p);
	assert_int_equal(ports_scan(p, &changes, &e), 0);
	assert_int_equal(change_of(AP_UDP, port, 4), -1);
	close(client);
	while (told < 0 && (ms = ports_interval(p)) >= 0) {
		struct pollfd pfd = { .fd = ports_fd(p), .events = POLLIN };

		poll(&pfd, 1, ms);
		assert_int_equal(ports_scan(p, &changes, &e), 0);
		assert_int_equal(change_of(AP_UDP, other, 4), -1);
		told = change_of(AP_UDP, port, 4);
	}
	assert_int_equal(told, 1);
	close(server);
	ports_free(p);
}

static void a_review_that_fails_is_not_made_at_once_again(void **state)
{
	struct err e = { 0 };
	uint16_t port;
	int server = bound_udp(true, &port);
	struct ports *p = fresh();
	int64_t due = clock_ms() + 2600;

	(void)state;
	no_dumps = true;
	while (clock_ms() < due) {
		struct pollfd pfd = { .fd = ports_fd(p), .events = POLLIN };

		poll(&pfd, 1, ports_interval(p));
		if (ports_interval(p))
			continue;
		assert_int_equal(ports_scan(p, &changes, &e), -1);
		assert_true(ports_interval(p) > 0);
	}
	no_dumps = false;
	close(server);
	ports_free(p);
}

/* Servers by their number, but gone before anybody looked. */
static void short_lived_udp_sockets_are_no_reason_to_look(void **state)
{
	struct ports *p = fresh();
	bool quiet = false;

	(void)state;
	/* Other programs of this machine may bind just then, but not each time. */
	for (int i = 0; i < 20 && !quiet; i++) {
		uint16_t port;

		close(bound_udp(true, &port));
		wait_event(p);
		quiet = ports_interval(p) == -1;
		while (ports_interval(p) >= 0) {
			struct err e;

			assert_true(ports_scan(p, &changes, &e) >= 0);
		}
	}
	assert_true(quiet);
	assert_false(ports_pending(p));
	ports_free(p);
}

static void accepts_and_connections_are_no_event(void **state)
{
	struct err e = { 0 };
	int listener = bound(AF_INET, SOCK_STREAM);
	struct sockaddr_in sa = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct ports *p;

	(void)state;
	assert_int_equal(listen(listener, 5), 0);
	sa.sin_port = htons(port_of(listener));
	p = fresh();
	for (int i = 0; i < 20; i++) {
		int client = socket(AF_INET, SOCK_STREAM, 0), server;

		assert_int_equal(connect(client, (struct sockaddr *)&sa, sizeof(sa)), 0);
		server = accept(listener, NULL, NULL);
		assert_true(server >= 0);
		close(client);
		close(server);
	}
	/* Other programs of this machine may cause events; none may be about our listener. */
	assert_int_equal(ports_scan(p, &changes, &e), 0);
	assert_int_equal(change_of(AP_TCP, port_of(listener), 4), -1);
	close(listener);
	ports_free(p);
}

/* Listens 20 times in a network namespace of its own, as containers do. */
static void listen_elsewhere(void)
{
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		if (unshare(CLONE_NEWNET) < 0)
			_exit(1);
		for (int i = 0; i < 20; i++) {
			int fd = socket(AF_INET, SOCK_STREAM, 0);

			if (fd < 0 || listen(fd, 1) < 0)
				_exit(2);
			close(fd);
		}
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static void listeners_of_other_namespaces_are_no_event(void **state)
{
	struct err e = { 0 };
	bool quiet = false;

	(void)state;
	/* Other programs of this machine may listen just then, but not each time. */
	for (int i = 0; i < 10 && !quiet; i++) {
		struct ports *p = fresh();

		listen_elsewhere();
		quiet = !ports_pending(p);
		assert_true(ports_scan(p, &changes, &e) >= 0);
		ports_free(p);
	}
	assert_true(quiet);
}

static void more_changes_than_fit_come_in_pieces(void **state)
{
	enum { MANY = AP_PORTS_MAX + 50 };
	static int fd[MANY];
	struct rlimit lim = { .rlim_cur = MANY + 100, .rlim_max = MANY + 100 };
	struct err e = { 0 };
	struct ports *p = fresh();
	size_t opened = 0;
	int left;

	(void)state;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &lim), 0);
	for (int i = 0; i < MANY; i++) {
		fd[i] = bound(AF_INET, SOCK_STREAM);
		assert_int_equal(listen(fd[i], 1), 0);
	}
	do {
		left = ports_scan(p, &changes, &e);
		assert_true(left >= 0);
		for (size_t i = 0; i < changes.count; i++)
			opened += changes.change[i].listening;
	} while (left);
	assert_true(opened >= MANY);
	for (int i = 0; i < MANY; i++)
		close(fd[i]);
	ports_forget(p);
	assert_int_equal(ports_scan(p, &changes, &e), 0);
	assert_true(changes.snapshot);
	for (size_t i = 0; i < changes.count; i++)
		assert_true(changes.change[i].listening);
	ports_free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tells_tcp_when_it_listens_not_when_it_binds),
		cmocka_unit_test(tells_udp),
		cmocka_unit_test(a_udp_client_is_not_told),
		cmocka_unit_test(a_udp_server_that_was_there_before_is_told_later),
		cmocka_unit_test(a_review_that_fails_is_not_made_at_once_again),
		cmocka_unit_test(short_lived_udp_sockets_are_no_reason_to_look),
		cmocka_unit_test(accepts_and_connections_are_no_event),
		cmocka_unit_test(listeners_of_other_namespaces_are_no_event),
		cmocka_unit_test(more_changes_than_fit_come_in_pieces),
	};

	return cmocka_run_group_tests_name("ports", tests, NULL, NULL);
}
