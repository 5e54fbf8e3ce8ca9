/* forward_floor WHAT … - the floor of whatever is told by the guest's port to connect over loopback: no frames, no event loop,
 * each byte is an order and is answered by one, and everything blocks. Static, as it runs at both ends.
 *   agent DEVICE PORT     in the guest: carries orders out at the forward_peer on PORT
 *   connect SOCKET N      on the host, at the port's socket: N connections in turn, each with one byte there and back
 *   trips SOCKET N        N round trips on an open connection
 *   bare SOCKET N         N round trips of the port alone
 * The latter print lines "NAME VALUE", as forward_load does. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

enum { CONNECT = 'c', TRIP = 't', BARE = 'b' };

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static void exchange(int fd)
{
	char c = 'e';

	if (write(fd, &c, 1) != 1 || read(fd, &c, 1) != 1)
		die("exchange");
}

/* --- in the guest --- */

static int reach(int port)
{
	struct sockaddr_in sa = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port),
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_STREAM, 0), one = 1;

	if (fd < 0 || connect(fd, (struct sockaddr *)&sa, sizeof(sa)) < 0)
		die("connect");
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	return fd;
}

static void agent(const char *device, int port)
{
	int fd = open(device, O_RDWR), kept = -1;

	if (fd < 0)
		die(device);
	for (;;) {
		ssize_t n;
		char order;
		int conn = -1;

		n = read(fd, &order, 1);
		if (n < 0)
			die("read");
		if (n == 0) {
			usleep(10000); /* there is nobody at the port yet */
			continue;
		}
		if (order == CONNECT) {
			conn = reach(port);
			exchange(conn);
		} else if (order == TRIP) {
			if (kept < 0)
				kept = reach(port);
			exchange(kept);
		}
		if (write(fd, &order, 1) != 1)
			die("write");
		if (conn >= 0)
			close(conn);
	}
}

/* --- on the host --- */

static int at_socket(const char *path)
{
	struct sockaddr_un sa = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	snprintf(sa.sun_path, sizeof(sa.sun_path), "%s", path);
	if (fd < 0 || connect(fd, (struct sockaddr *)&sa, sizeof(sa)) < 0)
		die(path);
	return fd;
}

static double now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1e3 + t.tv_nsec / 1e6;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void give(int fd, char order)
{
	char c;

	if (write(fd, &order, 1) != 1 || read(fd, &c, 1) != 1)
		die("the port");
}

/* name: of the latencies; rate: how many a second, or NULL. */
static void measure(int fd, char order, size_t n, const char *name, const char *rate)
{
	double *v = calloc(n, sizeof(*v)), begin, end;

	if (!v || !n)
		die("how many?");
	give(fd, order);
	begin = now_ms();
	for (size_t i = 0; i < n; i++) {
		double t = now_ms();

		give(fd, order);
		v[i] = now_ms() - t;
	}
	end = now_ms();
	if (rate)
		printf("%s %.1f\n", rate, 1e3 * (double)n / (end - begin));
	qsort(v, n, sizeof(*v), compare);
	printf("%s_p50 %.4f\n%s_p99 %.4f\n", name, v[n / 2], name, v[n * 99 / 100]);
	free(v);
}

int main(int argc, char **argv)
{
	size_t n = argc == 4 ? strtoul(argv[3], NULL, 10) : 0;

	if (argc != 4)
		return 2;
	if (!strcmp(argv[1], "agent"))
		agent(argv[2], (int)n);
	else if (!strcmp(argv[1], "connect"))
		measure(at_socket(argv[2]), CONNECT, n, "connect_ms", "connects_per_s");
	else if (!strcmp(argv[1], "trips"))
		measure(at_socket(argv[2]), TRIP, n, "trip_ms", NULL);
	else if (!strcmp(argv[1], "bare"))
		measure(at_socket(argv[2]), BARE, n, "bare_ms", NULL);
	else
		return 2;
	return 0;
}
