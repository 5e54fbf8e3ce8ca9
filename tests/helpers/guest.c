/* guest.c - a static helper the tests put into the guest: servers of one kind each, and a clock.
 *   helper echo PORT [ADDRESS]   TCP echo, half-close kept; ADDRESS: an IPv6 one
 *   helper udp PORT [COUNT]   UDP echo on 0.0.0.0; COUNT: as soon as so many have come, answered last first
 *   helper bind PORT          a UDP socket that is bound and never read; 0: the kernel chooses
 *   helper half PORT          reads to the end of the input, then answers "GOT <bytes>\n"
 *   helper answer SOCK FIRST COUNT   stand-in for the Docker daemon: each connection on the unix socket SOCK
 *                             opens the next TCP port (FIRST, FIRST+1, …, COUNT of them) and only then answers it;
 *                             "close PORT" as the request closes that port and then answers; "keep PORT" takes a
 *                             connection from it before, which stays open with bytes under way; "kill PORT" takes one and
 *                             drops it with the port, as a server does that is killed
 *   helper unix SOCK          standard input to the unix socket SOCK, what comes from there to standard output
 *   helper now                microseconds since 1970
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static int listen_tcp(int port)
{
	struct sockaddr_in sa = { .sin_family = AF_INET, .sin_port = htons((unsigned short)port) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1;

	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (fd < 0 || bind(fd, (struct sockaddr *)&sa, sizeof(sa)) < 0 || listen(fd, 1024) < 0)
		die("listen");
	return fd;
}

/* Only what comes by IPv6. */
static int listen_tcp6(int port, const char *address)
{
	struct sockaddr_in6 sa = { .sin6_family = AF_INET6, .sin6_port = htons((unsigned short)port) };
	int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1;

	setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &one, sizeof(one));
	if (fd < 0 || inet_pton(AF_INET6, address, &sa.sin6_addr) != 1 || bind(fd, (struct sockaddr *)&sa, sizeof(sa)) < 0 ||
	    listen(fd, 1024) < 0)
		die("listen");
	return fd;
}

static void echo(int fd)
{
	char buf[65536];
	ssize_t n;

	while ((n = read(fd, buf, sizeof(buf))) > 0)
		for (ssize_t at = 0, k; at < n; at += k)
			if ((k = write(fd, buf + at, (size_t)(n - at))) < 0)
				return;
}

static void half(int fd)
{
	char buf[65536];
	size_t got = 0;
	ssize_t n;

	while ((n = read(fd, buf, sizeof(buf))) > 0)
		got += (size_t)n;
	dprintf(fd, "GOT %zu\n", got);
}

static void serve(int listener, void (*fn)(int))
{
	signal(SIGCHLD, SIG_IGN);
	for (;;) {
		int fd = accept(listener, NULL, NULL);

		if (fd < 0)
			die("accept");
		if (fork() == 0) {
			close(listener);
			fn(fd);
			exit(0);
		}
		close(fd);
	}
}

/* Takes the connection that waits at the listener, with bytes of its client unread. */
static int take(int listener)
{
	static const char bytes[4096];
	int fd = accept(listener, NULL, NULL);

	if (fd < 0 || poll(&(struct pollfd){ .fd = fd, .events = POLLIN }, 1, -1) < 0 || write(fd, bytes, sizeof(bytes)) < 0)
		die("take");
	return fd;
}

/* Closes what take() gave: a reset, which the kernel may hand to the other end a moment later, by its ksoftirqd. Until it has, an
 * answer would prove nothing. */
static void drop(int fd, int port)
{
	char line[256], established[16];
	int there = 1;

	close(fd);
	snprintf(established, sizeof(established), ":%04X 01 ", port);
	while (there) {
		FILE *f = fopen("/proc/net/tcp", "r");

		if (!f)
			die("/proc/net/tcp");
		for (there = 0; fgets(line, sizeof(line), f);)
			there |= strstr(line, established) != NULL;
		fclose(f);
	}
}

/* The oldest of those kept goes. */
static void keep(int fd)
{
	static int kept[64];
	static unsigned at;

	if (kept[at])
		close(kept[at]);
	kept[at] = fd;
	at = (at + 1) % 64;
}

static int bind_udp(int port)
{
	struct sockaddr_in sa = { .sin_family = AF_INET, .sin_port = htons((unsigned short)port) };
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), bytes = 1 << 20;

	setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof(bytes));
	if (fd < 0 || bind(fd, (struct sockaddr *)&sa, sizeof(sa)) < 0)
		die("bind");
	return fd;
}

static void udp(int fd, int count)
{
	static char data[16][65536];
	struct sockaddr_in from[16];
	ssize_t len[16];

	for (;;) {
		for (int i = 0; i < count; i++) {
			socklen_t n = sizeof(from[i]);

			len[i] = recvfrom(fd, data[i], sizeof(data[i]), 0, (struct sockaddr *)&from[i], &n);
			if (len[i] < 0)
				die("recvfrom");
		}
		for (int i = count; i-- > 0;)
			sendto(fd, data[i], (size_t)len[i], 0, (struct sockaddr *)&from[i], sizeof(from[i]));
	}
}

/* One process on purpose: the port is open, or closed, before the answer is written. */
static void answer(const char *path, int first, int count)
{
	struct sockaddr_un sa = { .sun_family = AF_UNIX };
	int listener = socket(AF_UNIX, SOCK_STREAM, 0), port[65536], next = first;

	snprintf(sa.sun_path, sizeof(sa.sun_path), "%s", path);
	unlink(path);
	if (bind(listener, (struct sockaddr *)&sa, sizeof(sa)) < 0 || listen(listener, 128) < 0)
		die(path);
	memset(port, -1, sizeof(port));
	while (next < first + count || count == 0) {
		int fd = accept(listener, NULL, NULL), p;
		char req[32] = "";

		if (fd < 0 || read(fd, req, sizeof(req) - 1) < 0)
			die("accept");
		p = strlen(req) > 5 ? atoi(req + 5) : 0;
		if (p > 0 && p < 65536 && port[p] >= 0) {
			if (!strncmp(req, "keep", 4))
				keep(take(port[p]));
			else if (!strncmp(req, "kill", 4))
				drop(take(port[p]), p);
			close(port[p]);
			port[p] = -1;
		} else {
			p = next++;
			port[p] = listen_tcp(p);
		}
		dprintf(fd, "%d\n", p);
		close(fd);
	}
	pause();
}

static void ask_unix(const char *path)
{
	struct sockaddr_un sa = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);
	char buf[65536];
	ssize_t n;

	snprintf(sa.sun_path, sizeof(sa.sun_path), "%s", path);
	if (connect(fd, (struct sockaddr *)&sa, sizeof(sa)) < 0)
		die(path);
	while ((n = read(0, buf, sizeof(buf))) > 0)
		if (write(fd, buf, (size_t)n) != n)
			die(path);
	while ((n = read(fd, buf, sizeof(buf))) > 0)
		if (write(1, buf, (size_t)n) != n)
			die("output");
}

int main(int argc, char **argv)
{
	struct timeval tv;

	signal(SIGPIPE, SIG_IGN);
	if (argc == 3 && !strcmp(argv[1], "echo"))
		serve(listen_tcp(atoi(argv[2])), echo);
	else if (argc == 4 && !strcmp(argv[1], "echo"))
		serve(listen_tcp6(atoi(argv[2]), argv[3]), echo);
	else if (argc == 3 && !strcmp(argv[1], "half"))
		serve(listen_tcp(atoi(argv[2])), half);
	else if (argc == 3 && !strcmp(argv[1], "udp"))
		udp(bind_udp(atoi(argv[2])), 1);
	else if (argc == 4 && !strcmp(argv[1], "udp") && atoi(argv[3]) > 0 && atoi(argv[3]) <= 16)
		udp(bind_udp(atoi(argv[2])), atoi(argv[3]));
	else if (argc == 3 && !strcmp(argv[1], "bind"))
		return bind_udp(atoi(argv[2])) < 0 || pause();
	else if (argc == 5 && !strcmp(argv[1], "answer"))
		answer(argv[2], atoi(argv[3]), atoi(argv[4]));
	else if (argc == 3 && !strcmp(argv[1], "unix"))
		ask_unix(argv[2]);
	else if (argc == 2 && !strcmp(argv[1], "now")) {
		gettimeofday(&tv, NULL);
		printf("%lld\n", (long long)tv.tv_sec * 1000000 + tv.tv_usec);
	} else
		return 2;
	return 0;
}
