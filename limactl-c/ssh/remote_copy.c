/* The copying of files: a process of ours, with a connection and a channel for SFTP of its own (copy.h). */
#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/cleanup.h"
#include "lib/io.h"
#include "limactl-c/base/mem.h"
#include "limactl-c/base/prefix.h"
#include "limactl-c/base/spawn.h"
#include "limactl-c/ssh/copy.h"
#include "limactl-c/ssh/remote.h"

struct end {
	int fd;
	bool empty; /* nothing was there to read */
};

struct copy {
	struct job j; /* first */
	struct end end[2]; /* records both ways, and its standard error */
	bool full;         /* it took no more */
	pid_t pid;         /* 0: reaped */
	int status;
};

static enum job_state state(struct job *j)
{
	struct copy *c = (struct copy *)j;

	if (c->end[0].fd >= 0 || c->end[1].fd >= 0)
		return JOB_RUNS;
	/* Its standard error ends with it. */
	if (c->pid)
		c->status = spawn_wait(c->pid);
	c->pid = 0;
	return JOB_ENDED;
}

static ssize_t write_input(struct job *j, const void *p, size_t n)
{
	struct copy *c = (struct copy *)j;
	ssize_t k = c->end[0].fd < 0 ? -1 : send(c->end[0].fd, p, n, MSG_DONTWAIT | MSG_NOSIGNAL);

	c->full = k < 0 && c->end[0].fd >= 0 && errno == EAGAIN;
	return c->full || (k < 0 && errno == EINTR) ? 0 : k;
}

static void end_input(struct job *j)
{
	struct copy *c = (struct copy *)j;

	if (c->end[0].fd >= 0)
		shutdown(c->end[0].fd, SHUT_WR);
}

static ssize_t read_output(struct job *j, bool err, void *p, size_t n)
{
	struct end *end = &((struct copy *)j)->end[err];
	ssize_t k;

	if (end->fd < 0)
		return -1;
	do
		k = read(end->fd, p, n);
	while (k < 0 && errno == EINTR);
	end->empty = k < 0 && errno == EAGAIN;
	if (k > 0 || end->empty)
		return end->empty ? 0 : k;
	close(steal_fd(&end->fd));
	return -1;
}

static int status(struct job *j)
{
	const struct copy *c = (struct copy *)j;

	return c->status;
}

static const char *why(struct job *j)
{
	(void)j;
	return "";
}

/* What is left unread for want of room is not waited for. */
static size_t poll_ends(const struct job *j, struct pollfd fds[WORK_FDS])
{
	const struct copy *c = (const struct copy *)j;
	size_t n = 0;

	for (size_t i = 0; i < 2; i++) {
		short events = (short)((c->end[i].empty ? POLLIN : 0) | (!i && c->full ? POLLOUT : 0));

		if (c->end[i].fd >= 0 && events)
			fds[n++] = (struct pollfd){ .fd = c->end[i].fd, .events = events };
	}
	return n;
}

/* It hears of it by the end of its input, and tidies up. */
static bool leave(struct job *j)
{
	struct copy *c = (struct copy *)j;
	char none[4096];

	if (c->end[0].fd >= 0)
		close(steal_fd(&c->end[0].fd));
	while (read_output(j, true, none, sizeof(none)) > 0)
		;
	return state(j) == JOB_ENDED;
}

static void drop(struct job *j)
{
	struct copy *c = (struct copy *)j;

	for (size_t i = 0; i < 2; i++)
		if (c->end[i].fd >= 0)
			close(c->end[i].fd);
	free(c);
}

static const struct job_ops ops = {
	.state = state, .write = write_input, .end_input = end_input, .read = read_output,
	.status = status, .why = why, .poll = poll_ends, .leave = leave, .drop = drop,
};

static int launch(struct copy *c, const struct ep_start *start, int sock, int err, struct err *e)
{
	auto_free char *program = prefix_libexec("ssh", e);
	const char *argv[5 + EP_ARGS_MAX] = { program, COPY_WORD, c->j.si->dir, c->j.si->server->known.key[0] };
	struct spawn s = { .argv = argv, .fd = { sock }, .fds = 1, .out = err, .err = err };

	for (size_t i = 0; i < start->argc; i++)
		argv[4 + i] = start->argv[i];
	if (!program)
		return -1;
	c->pid = spawn_start(&s, e);
	return c->pid < 0 ? -1 : 0;
}

struct job *remote_copy_start(struct standin *si, const struct ep_start *start, struct err *e)
{
	struct copy *c = xcalloc(1, sizeof(*c));
	int sock[2] = { -1, -1 }, err[2] = { -1, -1 };
	int rc;

	*c = (struct copy){ .j = { &ops, si }, .end = { { -1, true }, { -1, true } } };
	if (io_socketpair(sock, e) < 0 || io_pipe(err, e) < 0)
		rc = err_wrap(e, "no copy can be begun");
	else
		rc = launch(c, start, sock[1], err[1], e);
	c->end[0].fd = sock[0];
	c->end[1].fd = err[0];
	if (sock[1] >= 0)
		close(sock[1]);
	if (err[1] >= 0)
		close(err[1]);
	if (rc == 0) {
		io_set_nonblock(sock[0], true);
		io_set_nonblock(err[0], true);
		return &c->j;
	}
	drop(&c->j);
	return NULL;
}
