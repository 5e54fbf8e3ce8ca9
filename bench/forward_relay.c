/* forward_relay FROM TO - the floor bench/forward.sh compares with: a relay that only reads and writes. FROM and TO are a TCP
 * port of 127.0.0.1 or the path of a unix socket. Two of them in a row make the way a forward through two agents has. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { BUFFER = 256 * 1024, BATCH = 64 };

struct side {
	int fd;
	struct side *other, *next_dead;
	char *buf; /* read from fd, not written to the other side */
	size_t at, len;
	int in_ended, out_ended, gone;
	uint32_t events;
};

static int loop;
static struct side *dead; /* freed after a batch: it may name both sides */

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static int endpoint(const char *name, int listening)
{
	struct sockaddr_in in = { .sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(name)),
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct sockaddr_un un = { .sun_family = AF_UNIX };
	int is_path = name[0] == '/', one = 1;
	const struct sockaddr *sa = is_path ? (struct sockaddr *)&un : (struct sockaddr *)&in;
	socklen_t len = is_path ? sizeof(un) : sizeof(in);
	int fd = socket(sa->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	snprintf(un.sun_path, sizeof(un.sun_path), "%s", name);
	if (is_path && listening)
		unlink(name);
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (listening ? bind(fd, sa, len) < 0 || listen(fd, 4096) < 0 : connect(fd, sa, len) < 0 && errno != EINPROGRESS)
		die(name);
	if (!is_path && !listening)
		setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	return fd;
}

static void watch(struct side *s, uint32_t events)
{
	struct epoll_event ev = { .events = events, .data.ptr = s };

	if (s->events != events && epoll_ctl(loop, EPOLL_CTL_MOD, s->fd, &ev) < 0)
		die("epoll_ctl");
	s->events = events;
}

static void interest(struct side *s)
{
	watch(s, (s->len || s->in_ended ? 0 : EPOLLIN) | (s->other->len ? EPOLLOUT : 0));
}

static void end(struct side *s)
{
	close(s->fd);
	close(s->other->fd);
	s->gone = s->other->gone = 1;
	s->next_dead = dead;
	dead = s;
}

/* Bytes of s to the other side. -1: both are gone. */
static int pass(struct side *s)
{
	ssize_t n;

	if (!s->len && !s->in_ended) {
		n = read(s->fd, s->buf, BUFFER);
		if (n < 0 && errno != EAGAIN)
			goto gone;
		s->in_ended = n == 0;
		s->at = 0;
		s->len = n > 0 ? (size_t)n : 0;
	}
	if (s->len) {
		n = write(s->other->fd, s->buf + s->at, s->len);
		if (n < 0 && errno != EAGAIN)
			goto gone;
		s->at += n > 0 ? (size_t)n : 0;
		s->len -= n > 0 ? (size_t)n : 0;
	}
	if (s->in_ended && !s->len && !s->out_ended) {
		s->out_ended = 1;
		shutdown(s->other->fd, SHUT_WR);
	}
	if (!s->out_ended || !s->other->out_ended)
		return 0;
gone:
	end(s);
	return -1;
}

static void moved(struct side *s, uint32_t events)
{
	if (s->gone)
		return;
	if (events & EPOLLERR) {
		end(s);
		return;
	}
	if ((events & (EPOLLIN | EPOLLHUP)) && pass(s) < 0)
		return;
	if ((events & EPOLLOUT) && pass(s->other) < 0)
		return;
	interest(s);
	interest(s->other);
}

static void take(int listener, const char *to)
{
	int fd, one = 1;

	while ((fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK)) >= 0) {
		struct side *s = calloc(2, sizeof(*s));

		if (!s || !(s[0].buf = malloc(BUFFER)) || !(s[1].buf = malloc(BUFFER)))
			die("malloc");
		setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
		s[0].fd = fd;
		s[1].fd = endpoint(to, 0);
		s[0].other = &s[1];
		s[1].other = &s[0];
		for (int i = 0; i < 2; i++) {
			struct epoll_event ev = { .events = s[i].events = EPOLLIN, .data.ptr = &s[i] };

			if (epoll_ctl(loop, EPOLL_CTL_ADD, s[i].fd, &ev) < 0)
				die("epoll_ctl");
		}
	}
}

static void bury(void)
{
	while (dead) {
		struct side *s = dead, *pair = s < s->other ? s : s->other;

		dead = s->next_dead;
		free(pair[0].buf);
		free(pair[1].buf);
		free(pair);
	}
}

int main(int argc, char **argv)
{
	struct epoll_event batch[BATCH], ev = { .events = EPOLLIN };
	int listener;

	if (argc != 3)
		return 2;
	signal(SIGPIPE, SIG_IGN);
	loop = epoll_create1(EPOLL_CLOEXEC);
	listener = endpoint(argv[1], 1);
	if (epoll_ctl(loop, EPOLL_CTL_ADD, listener, &ev) < 0)
		die("epoll_ctl");
	for (;;) {
		int n = epoll_wait(loop, batch, BATCH, -1);

		for (int i = 0; i < n; i++) {
			if (batch[i].data.ptr)
				moved(batch[i].data.ptr, batch[i].events);
			else
				take(listener, argv[2]);
		}
		bury();
	}
}
