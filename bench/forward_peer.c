/* forward_peer PORT - the server at the far end of bench/forward.sh, static so that it runs in any guest. One process, one
 * epoll loop: what is measured is the way to it. The first byte of a connection says what it is for:
 *   e          echo, that byte included
 *   u          reads to the end, then answers how many bytes came (u64, the 'u' included)
 *   d + u64    sends so many bytes, then ends
 *   l, c + u16 begins or ends to listen on that port, and answers nothing: who waits for it looks at the port
 * Datagrams to the port are sent back. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

enum { BUFFER = 256 * 1024, BATCH = 64, PORTS = 65536 };

struct conn {
	int fd;
	char mode;        /* 0 until its first byte came */
	uint64_t count;   /* received, or still to be sent */
	uint32_t events;
	char *kept;       /* echo: what the client did not take yet */
	size_t kept_len;
	uint8_t head[9];
	size_t head_len;
};

static int loop, listener[PORTS];
static char buffer[BUFFER];

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static int listen_on(uint16_t port)
{
	struct sockaddr_in sa = { .sin_family = AF_INET, .sin_port = htons(port) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), one = 1;

	/* QEMU's forward comes by the network card. */
	sa.sin_addr.s_addr = htonl(INADDR_ANY);
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (fd < 0 || bind(fd, (struct sockaddr *)&sa, sizeof(sa)) < 0 || listen(fd, 4096) < 0)
		die("listen");
	return fd;
}

static int bind_udp(uint16_t port)
{
	struct sockaddr_in sa = { .sin_family = AF_INET, .sin_port = htons(port) };
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	sa.sin_addr.s_addr = htonl(INADDR_ANY);
	if (fd < 0 || bind(fd, (struct sockaddr *)&sa, sizeof(sa)) < 0)
		die("bind");
	return fd;
}

static void watch(struct conn *c, int op, uint32_t events)
{
	struct epoll_event ev = { .events = events, .data.ptr = c };

	if (op == EPOLL_CTL_MOD && c->events == events)
		return;
	c->events = events;
	if (epoll_ctl(loop, op, c->fd, &ev) < 0)
		die("epoll_ctl");
}

static void end(struct conn *c)
{
	close(c->fd);
	free(c->kept);
	free(c);
}

/* What follows the first byte of those modes that take a number. False: not all there yet, or the connection is gone. */
static int have_head(struct conn *c, size_t len)
{
	ssize_t n = read(c->fd, c->head + c->head_len, len - c->head_len);

	if (n == 0 || (n < 0 && errno != EAGAIN)) {
		end(c);
		return 0;
	}
	c->head_len += n > 0 ? (size_t)n : 0;
	return c->head_len == len;
}

static void flip(struct conn *c)
{
	uint16_t port;

	if (!have_head(c, sizeof(port)))
		return;
	memcpy(&port, c->head, sizeof(port));
	c->head_len = 0;
	if (c->mode == 'l' && !listener[port]) {
		listener[port] = listen_on(port); /* nobody accepts: the queue is enough to be connected */
	} else if (c->mode == 'c' && listener[port]) {
		close(listener[port]);
		listener[port] = 0;
	}
	c->mode = 0;
}

static void echo(struct conn *c)
{
	ssize_t n, k;

	if (c->kept_len) {
		k = write(c->fd, c->kept, c->kept_len);
		if (k < 0 && errno != EAGAIN) {
			end(c);
			return;
		}
		c->kept_len -= k > 0 ? (size_t)k : 0;
		memmove(c->kept, c->kept + (k > 0 ? k : 0), c->kept_len);
		watch(c, EPOLL_CTL_MOD, c->kept_len ? EPOLLOUT : EPOLLIN);
		return;
	}
	n = read(c->fd, buffer, sizeof(buffer));
	if (n == 0 || (n < 0 && errno != EAGAIN)) {
		end(c);
		return;
	}
	if (n < 0)
		return;
	k = write(c->fd, buffer, (size_t)n);
	if (k < 0)
		k = 0;
	if (k == n)
		return;
	c->kept = realloc(c->kept, (size_t)(n - k));
	if (!c->kept)
		die("realloc");
	c->kept_len = (size_t)(n - k);
	memcpy(c->kept, buffer + k, c->kept_len);
	watch(c, EPOLL_CTL_MOD, EPOLLOUT);
}

static void sink(struct conn *c)
{
	ssize_t n = read(c->fd, buffer, sizeof(buffer));

	if (n > 0) {
		c->count += (uint64_t)n;
	} else if (n == 0) {
		if (write(c->fd, &c->count, sizeof(c->count)) < 0)
			perror("answer");
		end(c);
	} else if (errno != EAGAIN) {
		end(c);
	}
}

static void source(struct conn *c)
{
	size_t n;
	ssize_t k;

	if (c->head_len < sizeof(c->count)) {
		if (!have_head(c, sizeof(c->count)))
			return;
		memcpy(&c->count, c->head, sizeof(c->count));
	}
	n = c->count < sizeof(buffer) ? (size_t)c->count : sizeof(buffer);
	k = write(c->fd, buffer, n);
	if (k < 0 && errno != EAGAIN) {
		end(c);
		return;
	}
	c->count -= k > 0 ? (uint64_t)k : 0;
	if (c->count)
		watch(c, EPOLL_CTL_MOD, EPOLLOUT);
	else
		end(c);
}

static void serve(struct conn *c)
{
	if (!c->mode) {
		ssize_t n = recv(c->fd, &c->mode, 1, MSG_PEEK);

		if (n == 0 || (n < 0 && errno != EAGAIN)) {
			end(c);
			return;
		}
		if (n < 0)
			return;
		if (c->mode != 'e' && c->mode != 'u' && recv(c->fd, &c->mode, 1, 0) != 1)
			die("recv");
	}
	switch (c->mode) {
	case 'e': echo(c); break;
	case 'u': sink(c); break;
	case 'd': source(c); break;
	case 'l':
	case 'c': flip(c); break;
	default: end(c);
	}
}

static void take(int fd)
{
	int c, one = 1;

	while ((c = accept4(fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK)) >= 0) {
		struct conn *new = calloc(1, sizeof(*new));

		if (!new)
			die("calloc");
		new->fd = c;
		setsockopt(c, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
		watch(new, EPOLL_CTL_ADD, EPOLLIN);
	}
}

static void echo_datagrams(int fd)
{
	struct sockaddr_in from;
	socklen_t len = sizeof(from);
	ssize_t n;

	for (int i = 0; i < BATCH && (n = recvfrom(fd, buffer, sizeof(buffer), 0, (struct sockaddr *)&from, &len)) >= 0; i++)
		if (sendto(fd, buffer, (size_t)n, 0, (struct sockaddr *)&from, len) < 0 && errno != EAGAIN)
			perror("sendto");
}

int main(int argc, char **argv)
{
	struct epoll_event batch[BATCH];
	struct rlimit files;
	struct conn *own = calloc(1, sizeof(*own)), *udp = calloc(1, sizeof(*udp));

	if (argc != 2 || !own || !udp)
		return 2;
	signal(SIGPIPE, SIG_IGN);
	getrlimit(RLIMIT_NOFILE, &files);
	files.rlim_cur = files.rlim_max;
	setrlimit(RLIMIT_NOFILE, &files);
	loop = epoll_create1(EPOLL_CLOEXEC);
	own->fd = listen_on((uint16_t)atoi(argv[1]));
	watch(own, EPOLL_CTL_ADD, EPOLLIN);
	udp->fd = bind_udp((uint16_t)atoi(argv[1]));
	watch(udp, EPOLL_CTL_ADD, EPOLLIN);
	for (;;) {
		int n = epoll_wait(loop, batch, BATCH, -1);

		for (int i = 0; i < n; i++) {
			if (batch[i].data.ptr == own)
				take(own->fd);
			else if (batch[i].data.ptr == udp)
				echo_datagrams(udp->fd);
			else
				serve(batch[i].data.ptr);
		}
	}
}
