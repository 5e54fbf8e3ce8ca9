#include "guestagent/dial.h"

#include <errno.h>
#include <netdb.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "guestagent/user.h"
#include "lib/cleanup.h"
#include "lib/io.h"
#include "lib/le.h"
#include "lib/sock.h"

enum {
	CHILD_SOCKET = 3,
	CHILD_SECONDS = 60,
	ADDRESS_SECONDS = 20, /* for one address, so that the next has its turn */
	ADDRESSES_MAX = 8,
	RESULT = 4,
};

/* --- the child --- */

/* -1 with errno set. */
static int connect_to(const struct addrinfo *a)
{
	const struct timeval limit = { .tv_sec = ADDRESS_SECONDS }, none = { 0 };
	int fd = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return -1;
	/* On Linux it bounds connect() too. */
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
	if (connect(fd, a->ai_addr, a->ai_addrlen) < 0) {
		int error = errno == EINPROGRESS ? ETIMEDOUT : errno;

		close(fd);
		errno = error;
		return -1;
	}
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &none, sizeof(none));
	return fd;
}

/* -1 with errno set, to 0 when nobody knows the name. */
static int connect_by_name(const char *host, uint16_t port)
{
	const struct addrinfo hints = { .ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV };
	struct addrinfo *all;
	char service[8];
	int fd = -1;

	snprintf(service, sizeof(service), "%u", port);
	if (getaddrinfo(host, service, &hints, &all) != 0) {
		errno = 0;
		return -1;
	}
	for (int i = 0; all && fd < 0 && i < ADDRESSES_MAX; all = all->ai_next, i++)
		fd = connect_to(all);
	return fd;
}

static _Noreturn void run_child(const struct ga *ga, int sock, const char *host, uint16_t port)
{
	struct ga_user user;
	struct err e;
	uint8_t result[RESULT];
	int fd;

	if (dup2(sock, CHILD_SOCKET) < 0)
		_exit(1);
	ga_child_alone(&ga->files, CHILD_SOCKET + 1);
	alarm(CHILD_SECONDS);
	if (ga_user_find(&user, ga->settings, false, &e) < 0 || ga_user_become(&user) < 0)
		_exit(1);
	prctl(PR_SET_PDEATHSIG, SIGKILL); /* another user's process has it no more */
	fd = connect_by_name(host, port);
	le32_put(result, fd < 0 ? (uint32_t)errno : 0);
	sock_send_fds(CHILD_SOCKET, result, sizeof(result), &fd, fd >= 0);
	_exit(0);
}

/* --- the daemon --- */

void ga_dial_stop(struct ga_dial *d)
{
	if (d->watch.fd < 0)
		return;
	ga_loop_close(&d->ga->loop, &d->watch);
	if (d->child.pid > 0) {
		kill(d->child.pid, SIGKILL);
		ga_child_del(&d->ga->loop, &d->child);
	}
	d->ga->dials--;
}

static void on_child(struct ga_child *c, int status)
{
	(void)c;
	(void)status; /* what it said is in the socket */
}

static void on_result(struct ga_watch *w, uint32_t events)
{
	struct ga_dial *d = ga_of(w, struct ga_dial, watch);
	uint8_t result[RESULT];
	int fd = -1, error;
	size_t fds = 1;
	ssize_t k = sock_recv_fds(w->fd, result, sizeof(result), &fd, &fds);

	(void)events;
	if (k < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	/* Nothing at all: it was ended, by its alarm most likely. */
	error = k == RESULT ? (int)le32_get(result) : ETIMEDOUT;
	if (fds == 0)
		fd = -1;
	ga_dial_stop(d);
	if (fd >= 0)
		io_set_nonblock(fd, true);
	d->done(d, fd, error);
}

int ga_dial_start(struct ga *ga, struct ga_dial *d, const char *host, uint16_t port)
{
	int pair[2];
	pid_t pid;

	d->ga = ga;
	d->watch = (struct ga_watch){ -1, on_result };
	d->child.fn = on_child;
	if (ga->dials >= GA_DIALS_MAX || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) < 0)
		return -1;
	pid = fork();
	if (pid == 0)
		run_child(ga, pair[1], host, port);
	close(pair[1]);
	d->watch.fd = pair[0];
	/* A child nobody listens to ends when it has something to say. */
	if (pid < 0 || ga_loop_add(&ga->loop, &d->watch, EPOLLIN) < 0) {
		close(pair[0]);
		d->watch.fd = -1;
		return -1;
	}
	d->child.pid = pid;
	ga_child_add(&ga->loop, &d->child);
	ga->dials++;
	return 0;
}
