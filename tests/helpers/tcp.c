/* tcp.c - TCP peers of one kind each for the tests and bench: thousands of connections in one process. Not linked with ours.
 * In the guest:
 *   tcp echo PORT          echoes; stops reading a connection whose client does not
 *   tcp hello PORT         says "hello" and closes first, without waiting for anything
 *   tcp bye PORT           reads something, says "bye" and resets the connection
 * On the host, to 127.0.0.1:PORT; a failure is a line on standard error and status 1:
 *   tcp many PORT N        N connections open at once, each echoes twice; "N open", then waits for a byte of standard input
 *   tcp short PORT N P     N connections one after another, P at a time, each echoes and closes; "N in S s"
 *   tcp stall PORT N       a client that never reads and sends until it cannot; meanwhile N others echo 64 KiB each; then it
 *                          reads, and gets every byte it sent
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { CHUNK = 65536, DEADLINE_S = 300 };

static int epoll;
static struct sockaddr_in address = { .sin_family = AF_INET };

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static void check(int ok, const char *what)
{
	if (!ok)
		die(what);
}

static void wait_for(int fd, unsigned events, unsigned long ctx)
{
	struct epoll_event ev = { .events = events, .data.u64 = ctx };

	if (epoll_ctl(epoll, EPOLL_CTL_MOD, fd, &ev) < 0)
		check(epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &ev) == 0, "epoll_ctl");
}

static int open_one(void)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	check(fd >= 0, "socket");
	check(connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0, "connect");
	return fd;
}

static void reset_and_close(int fd)
{
	struct linger l = { 1, 0 };

	setsockopt(fd, SOL_SOCKET, SO_LINGER, &l, sizeof(l));
	close(fd);
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* --- servers --- */

struct echo {
	int fd;
	unsigned waits;
	size_t len, at;
	char *bytes; /* being sent back, NULL when none are */
};

/* -1: it is over, 0: there is no room, 1: nothing is left. */
static int echo_flush(struct echo *c)
{
	while (c->at < c->len) {
		ssize_t k = send(c->fd, c->bytes + c->at, c->len - c->at, MSG_DONTWAIT);

		if (k < 0)
			return errno == EAGAIN ? 0 : -1;
		c->at += (size_t)k;
	}
	free(c->bytes);
	c->bytes = NULL;
	c->len = c->at = 0;
	return 1;
}

static void echo_ready(struct echo *c)
{
	static char bytes[CHUNK];
	int r = echo_flush(c);

	if (r == 1) {
		ssize_t n = recv(c->fd, bytes, sizeof(bytes), MSG_DONTWAIT);

		if (n > 0) {
			c->bytes = malloc((size_t)n);
			check(c->bytes != NULL, "malloc");
			memcpy(c->bytes, bytes, (size_t)n);
			c->len = (size_t)n;
			r = echo_flush(c);
		} else if (n == 0 || errno != EAGAIN) {
			r = -1;
		}
	}
	if (r < 0) {
		close(c->fd);
		free(c->bytes);
		free(c);
	} else if (c->waits != (r ? EPOLLIN : EPOLLOUT)) {
		c->waits = r ? EPOLLIN : EPOLLOUT;
		wait_for(c->fd, c->waits, (unsigned long)c);
	}
}

static void echo_new(int fd)
{
	struct echo *c = calloc(1, sizeof(*c));

	check(c != NULL, "calloc");
	c->fd = fd;
	echo_ready(c);
}

static void hello(int fd)
{
	check(write(fd, "hello", 5) == 5, "write");
	close(fd);
}

static void bye(int fd)
{
	char bytes[100];

	if (read(fd, bytes, sizeof(bytes)) > 0)
		check(write(fd, "bye", 3) == 3, "write");
	reset_and_close(fd);
}

static void serve(void (*fn)(int fd))
{
	struct epoll_event ev[64];
	int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1, n;

	setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	address.sin_addr.s_addr = INADDR_ANY;
	check(bind(listener, (struct sockaddr *)&address, sizeof(address)) == 0 && listen(listener, 4096) == 0, "listen");
	wait_for(listener, EPOLLIN, 0);
	while ((n = epoll_wait(epoll, ev, 64, -1)) >= 0) {
		for (int i = 0; i < n; i++) {
			if (ev[i].data.u64)
				echo_ready((struct echo *)ev[i].data.ptr);
			else
				fn(accept4(listener, NULL, NULL, SOCK_CLOEXEC));
		}
	}
}

/* --- clients --- */

/* Byte n of what a client sends. */
static char pattern(size_t n)
{
	return (char)(n * 31 + (n >> 8) * 7);
}

static void receive(int fd, size_t from, size_t n)
{
	static char bytes[CHUNK];

	while (n) {
		ssize_t k = recv(fd, bytes, n < CHUNK ? n : CHUNK, 0);

		check(k > 0, "an echo");
		for (ssize_t i = 0; i < k; i++, from++)
			check(bytes[i] == pattern(from), "the right bytes");
		n -= (size_t)k;
	}
}

static void send_all(int fd, size_t n)
{
	static char bytes[CHUNK];

	for (size_t i = 0; i < n; i++)
		bytes[i] = pattern(i);
	check(send(fd, bytes, n, 0) == (ssize_t)n, "send");
}

static void many(int count)
{
	int *fd = calloc((size_t)count, sizeof(*fd));
	char byte;

	check(fd != NULL, "calloc");
	for (int i = 0; i < count; i++)
		fd[i] = open_one();
	for (int round = 0; round < 2; round++) {
		for (int i = 0; i < count; i++)
			send_all(fd[i], 6);
		for (int i = 0; i < count; i++)
			receive(fd[i], 0, 6);
	}
	printf("%d open\n", count);
	fflush(stdout);
	check(read(0, &byte, 1) >= 0, "read");
}

static void one_more(void)
{
	int fd = open_one();

	send_all(fd, 6);
	wait_for(fd, EPOLLIN, (unsigned long)fd);
}

static void many_short(int count, int parallel)
{
	struct epoll_event ev[64];
	double begin = now();
	int begun = 0, done = 0, n;

	for (; begun < count && begun < parallel; begun++)
		one_more();
	while (done < count) {
		n = epoll_wait(epoll, ev, 64, DEADLINE_S * 1000);
		check(n > 0, "epoll_wait");
		for (int i = 0; i < n; i++, done++) {
			receive((int)ev[i].data.u64, 0, 6);
			close((int)ev[i].data.u64);
			if (begun < count) {
				one_more();
				begun++;
			}
		}
	}
	printf("%d in %.1f s\n", count, now() - begin);
}

/* Sends until nothing has moved for a while. */
static size_t send_until_stuck(int fd)
{
	static char bytes[CHUNK];
	size_t sent = 0;

	for (int idle = 0; idle < 300;) {
		ssize_t k;

		for (size_t i = 0; i < CHUNK; i++)
			bytes[i] = pattern(sent + i);
		k = send(fd, bytes, CHUNK, MSG_DONTWAIT);
		check(k > 0 || errno == EAGAIN, "send");
		sent += k > 0 ? (size_t)k : 0;
		idle = k > 0 ? 0 : idle + 1;
		if (idle)
			usleep(1000);
	}
	return sent;
}

static void stall(int others)
{
	int stalled = open_one(), *fd = calloc((size_t)others, sizeof(*fd));
	size_t sent = send_until_stuck(stalled);

	check(fd != NULL, "calloc");
	for (int i = 0; i < others; i++)
		fd[i] = open_one();
	for (int i = 0; i < others; i++)
		send_all(fd[i], CHUNK);
	for (int i = 0; i < others; i++) {
		receive(fd[i], 0, CHUNK);
		close(fd[i]);
	}
	printf("%d others done\n", others);
	receive(stalled, 0, sent);
	printf("the stalled one has all of its bytes\n");
}

static const struct {
	const char *name;
	int args;
	void (*server)(int fd);
	void (*client)(int n);
} kinds[] = {
	{ "echo", 3, echo_new, NULL }, { "hello", 3, hello, NULL }, { "bye", 3, bye, NULL },
	{ "many", 4, NULL, many },     { "stall", 4, NULL, stall },
};

int main(int argc, char **argv)
{
	struct rlimit files;

	getrlimit(RLIMIT_NOFILE, &files);
	files.rlim_cur = files.rlim_max;
	setrlimit(RLIMIT_NOFILE, &files);
	signal(SIGPIPE, SIG_IGN);
	epoll = epoll_create1(EPOLL_CLOEXEC);
	if (argc < 3)
		return 2;
	address.sin_port = htons((unsigned short)atoi(argv[2]));
	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (argc == 5 && !strcmp(argv[1], "short")) {
		alarm(DEADLINE_S);
		many_short(atoi(argv[3]), atoi(argv[4]));
		return 0;
	}
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (strcmp(kinds[i].name, argv[1]) || kinds[i].args != argc)
			continue;
		if (kinds[i].server) {
			serve(kinds[i].server);
		} else {
			alarm(DEADLINE_S);
			kinds[i].client(atoi(argv[3]));
		}
		return 0;
	}
	return 2;
}
