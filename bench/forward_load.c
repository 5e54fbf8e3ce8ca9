/* forward_load WHAT PORT … - the client of bench/forward.sh. PORT of 127.0.0.1 leads to a forward_peer in one way or another.
 * Prints lines "NAME VALUE".
 *   connect PORT N             N connections in turn: connect, one byte there and back, close
 *   trips PORT N               N round trips of one byte on an open connection
 *   up PORT BYTES              to the peer, until it has answered how many came
 *   down PORT BYTES            from the peer
 *   flap PORT OTHER N          N times: the peer listens on OTHER until it is reached, then no more until OTHER can be bound
 *   refused PORT N             N connections in turn to where nobody listens in the end: until the reset
 *   hold PORT N                N connections, one byte there and back on each, kept until the end of standard input
 *   many PORT N MS             N connections, half of them up, half down, for that time
 *   dgrams PORT SIZE N MS      UDP datagrams of SIZE: N round trips, then echoes for that time with up to 32 under way */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { BUFFER = 256 * 1024, FLAP_MOST_MS = 5000, BATCH = 64, DGRAM_WINDOW = 32, DGRAM_LOST_MS = 200 };

static char buffer[BUFFER], taken[BUFFER]; /* taken: what comes while buffer is being sent */

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static double now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1e3 + t.tv_nsec / 1e6;
}

static struct sockaddr_in here(int port)
{
	return (struct sockaddr_in){ .sin_family = AF_INET, .sin_port = htons((uint16_t)port),
				     .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
}

/* -1 with errno: refused. */
static int reach(int port)
{
	struct sockaddr_in sa = here(port);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1;

	if (fd < 0)
		die("socket");
	if (connect(fd, (struct sockaddr *)&sa, sizeof(sa)) < 0) {
		close(fd);
		return -1;
	}
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	return fd;
}

static int must_reach(int port)
{
	int fd = reach(port);

	if (fd < 0)
		die("connect");
	return fd;
}

static void put(int fd, const void *p, size_t n)
{
	const char *at = p;

	while (n) {
		ssize_t k = write(fd, at, n);

		if (k < 0)
			die("write");
		at += k;
		n -= (size_t)k;
	}
}

static void get(int fd, void *p, size_t n)
{
	char *at = p;

	while (n) {
		ssize_t k = read(fd, at, n);

		if (k <= 0)
			die(k ? "read" : "the peer ended");
		at += k;
		n -= (size_t)k;
	}
}

static void trip(int fd)
{
	char c = 'e';

	put(fd, &c, 1);
	get(fd, &c, 1);
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void percentiles(const char *name, double *v, size_t n)
{
	qsort(v, n, sizeof(*v), compare);
	printf("%s_p50 %.4f\n%s_p99 %.4f\n", name, v[n / 2], name, v[n * 99 / 100]);
}

static double *samples(size_t n)
{
	double *v = n ? calloc(n, sizeof(*v)) : NULL;

	if (!v)
		die("how many?");
	return v;
}

static void connects(int port, size_t n)
{
	double *v = samples(n), begin = now_ms();

	for (size_t i = 0; i < n; i++) {
		double t = now_ms();
		int fd = must_reach(port);

		trip(fd);
		v[i] = now_ms() - t;
		close(fd);
	}
	printf("connects_per_s %.1f\n", 1e3 * (double)n / (now_ms() - begin));
	percentiles("connect_ms", v, n);
}

static void trips(int port, size_t n)
{
	double *v = samples(n);
	int fd = must_reach(port);

	trip(fd);
	for (size_t i = 0; i < n; i++) {
		double t = now_ms();

		trip(fd);
		v[i] = now_ms() - t;
	}
	percentiles("trip_ms", v, n);
}

static void up(int port, uint64_t bytes)
{
	uint64_t left = bytes, got;
	int fd = must_reach(port);
	double begin = now_ms();

	memset(buffer, 'u', sizeof(buffer));
	while (left) {
		size_t n = left < sizeof(buffer) ? (size_t)left : sizeof(buffer);

		put(fd, buffer, n);
		left -= n;
	}
	shutdown(fd, SHUT_WR);
	get(fd, &got, sizeof(got));
	if (got != bytes) {
		fprintf(stderr, "%llu bytes sent, %llu came\n", (unsigned long long)bytes, (unsigned long long)got);
		exit(1);
	}
	printf("up_MBps %.2f\n", (double)bytes / 1e3 / (now_ms() - begin));
}

static void ask(int fd, char mode, const void *p, size_t n)
{
	put(fd, &mode, 1);
	put(fd, p, n);
}

static void down(int port, uint64_t bytes)
{
	int fd = must_reach(port);
	double begin = now_ms();
	uint64_t got = 0;
	ssize_t n;

	ask(fd, 'd', &bytes, sizeof(bytes));
	while ((n = read(fd, buffer, sizeof(buffer))) > 0)
		got += (uint64_t)n;
	if (n < 0 || got != bytes)
		die("down");
	printf("down_MBps %.2f\n", (double)bytes / 1e3 / (now_ms() - begin));
}

static int is_reachable(int port)
{
	int fd = reach(port);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

/* Asked without the guest hearing of it: a connection to see that the port is gone would be one to be passed on. */
static int is_free(int port)
{
	struct sockaddr_in sa = here(port);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1, got;

	if (fd < 0)
		die("socket");
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	got = bind(fd, (struct sockaddr *)&sa, sizeof(sa));
	close(fd);
	return got == 0;
}

static double until(int (*is)(int port), int port, const char *otherwise)
{
	double begin = now_ms();

	while (!is(port)) {
		if (now_ms() - begin > FLAP_MOST_MS) {
			fprintf(stderr, "port %d %s\n", port, otherwise);
			exit(1);
		}
		usleep(100);
	}
	return now_ms() - begin;
}

/* Times count from before the request is sent, so they hold the way to the peer as well. Between them there is rest, for a
 * port that flaps is another matter. */
static void flap(int port, int other, size_t n)
{
	double *open = samples(n), *gone = samples(n);
	uint16_t p = (uint16_t)other;
	int fd = must_reach(port);

	for (size_t i = 0; i < n; i++) {
		ask(fd, 'l', &p, sizeof(p));
		open[i] = until(is_reachable, other, "never appears");
		usleep(30000);
		ask(fd, 'c', &p, sizeof(p));
		gone[i] = until(is_free, other, "stays");
		usleep(30000);
	}
	percentiles("port_open_ms", open, n);
	percentiles("port_gone_ms", gone, n);
}

static void refused(int port, size_t n)
{
	double *v = samples(n);

	for (size_t i = 0; i < n; i++) {
		double t = now_ms();
		int fd = must_reach(port);
		char c;

		if (read(fd, &c, 1) >= 0 || errno != ECONNRESET)
			die("no reset");
		v[i] = now_ms() - t;
		close(fd);
	}
	percentiles("refused_ms", v, n);
	printf("refused_ms_worst %.4f\n", v[n - 1]);
}

static void hold(int port, size_t n)
{
	double begin = now_ms();
	char c;

	for (size_t i = 0; i < n; i++)
		trip(must_reach(port));
	printf("held %zu\nhold_s %.2f\n", n, (now_ms() - begin) / 1e3);
	fflush(stdout);
	while (read(0, &c, 1) > 0)
		;
}

static void many(int port, size_t n, int ms)
{
	struct epoll_event batch[BATCH];
	int loop = epoll_create1(EPOLL_CLOEXEC);
	uint64_t all = UINT64_MAX, sent = 0, got = 0;
	double begin, end;

	memset(buffer, 'u', sizeof(buffer));
	for (size_t i = 0; i < n; i++) {
		struct epoll_event ev = { .events = i % 2 ? EPOLLIN : EPOLLOUT, .data.fd = must_reach(port) };

		if (i % 2)
			ask(ev.data.fd, 'd', &all, sizeof(all));
		if (epoll_ctl(loop, EPOLL_CTL_ADD, ev.data.fd, &ev) < 0)
			die("epoll_ctl");
	}
	begin = now_ms();
	for (end = begin + ms; now_ms() < end;) {
		int k = epoll_wait(loop, batch, BATCH, 100);

		for (int i = 0; i < k; i++) {
			ssize_t b = batch[i].events & EPOLLOUT ?
					    send(batch[i].data.fd, buffer, sizeof(buffer), MSG_DONTWAIT) :
					    recv(batch[i].data.fd, taken, sizeof(taken), MSG_DONTWAIT);

			if (b == 0 || (b < 0 && errno != EAGAIN))
				die("a connection of many");
			if (b > 0)
				*(batch[i].events & EPOLLOUT ? &sent : &got) += (uint64_t)b;
		}
	}
	printf("many_up_MBps %.2f\nmany_down_MBps %.2f\n", (double)sent / 1e3 / (now_ms() - begin),
	       (double)got / 1e3 / (now_ms() - begin));
}

/* Whether an echo came in time. */
static int echoed(int fd, size_t size)
{
	ssize_t k = recv(fd, taken, sizeof(taken), 0);

	if (k < 0 && errno != EAGAIN)
		die("recv");
	return k == (ssize_t)size;
}

static void datagram(int fd, size_t size)
{
	if (send(fd, buffer, size, 0) != (ssize_t)size)
		die("send");
}

/* Datagrams may be lost, which is counted; the window is filled again when nothing comes. */
static void dgrams(int port, size_t size, size_t n, int ms)
{
	struct sockaddr_in sa = here(port);
	struct timeval patience = { .tv_usec = DGRAM_LOST_MS * 1000 };
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	double *v = samples(n), begin;
	size_t lost = 0, got = 0, under_way = 0;
	char name[40];

	if (fd < 0 || size > sizeof(buffer) || connect(fd, (struct sockaddr *)&sa, sizeof(sa)) < 0)
		die("UDP");
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	for (size_t i = 0; i < n;) {
		double t = now_ms();

		datagram(fd, size);
		if (echoed(fd, size))
			v[i++] = now_ms() - t;
		else if (++lost > n)
			die("no echo");
	}
	for (begin = now_ms(); now_ms() < begin + ms;) {
		for (; under_way < DGRAM_WINDOW; under_way++)
			datagram(fd, size);
		if (echoed(fd, size)) {
			got++;
			under_way--;
		} else {
			lost += under_way;
			under_way = 0;
		}
	}
	printf("udp%zu_per_s %.1f\nudp%zu_lost %zu\n", size, 1e3 * (double)got / (now_ms() - begin), size, lost);
	snprintf(name, sizeof(name), "udp%zu_ms", size);
	percentiles(name, v, n);
}

int main(int argc, char **argv)
{
	struct rlimit files;
	int port = argc > 3 ? atoi(argv[2]) : 0;
	uint64_t n = argc > 3 ? strtoull(argv[3], NULL, 10) : 0;

	signal(SIGPIPE, SIG_IGN);
	getrlimit(RLIMIT_NOFILE, &files);
	files.rlim_cur = files.rlim_max;
	setrlimit(RLIMIT_NOFILE, &files);
	if (argc == 4 && !strcmp(argv[1], "connect"))
		connects(port, n);
	else if (argc == 4 && !strcmp(argv[1], "trips"))
		trips(port, n);
	else if (argc == 4 && !strcmp(argv[1], "up"))
		up(port, n);
	else if (argc == 4 && !strcmp(argv[1], "down"))
		down(port, n);
	else if (argc == 5 && !strcmp(argv[1], "flap"))
		flap(port, (int)n, strtoul(argv[4], NULL, 10));
	else if (argc == 4 && !strcmp(argv[1], "refused"))
		refused(port, n);
	else if (argc == 4 && !strcmp(argv[1], "hold"))
		hold(port, n);
	else if (argc == 5 && !strcmp(argv[1], "many"))
		many(port, n, atoi(argv[4]));
	else if (argc == 6 && !strcmp(argv[1], "dgrams"))
		dgrams(port, n, strtoul(argv[4], NULL, 10), atoi(argv[5]));
	else
		return 2;
	return 0;
}
