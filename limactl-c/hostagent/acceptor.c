#include "limactl-c/hostagent/acceptor.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/cleanup.h"
#include "lib/io.h"
#include "lib/log.h"
#include "limactl-c/base/mem.h"

enum {
	AT_ONCE = 16, /* connections taken in one go, so that one busy port does not hold up the rest */
	PAUSE_MS = 100,
};

struct acceptor {
	struct loop *loop;
	int fd;
	struct watch *watch;
	struct deadline *pause; /* NULL until the first */
	bool said;              /* since the last connection that was taken */
	void (*fn)(void *ctx, int fd);
	void *ctx;
};

static int accept_one(int fd)
{
#ifdef __linux__
	return accept4(fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
#else
	int c = accept(fd, NULL, NULL);

	if (c >= 0 && (io_set_nonblock(c, true) < 0 || io_set_cloexec(c, true) < 0)) {
		close(c);
		c = -1;
	}
	return c;
#endif
}

static int spare = -1; /* given up for a moment to take and drop a connection when there is no other */

static void keep_spare(void)
{
	if (spare < 0)
		spare = open("/dev/null", O_RDONLY | O_CLOEXEC);
}

/* False: there is none to be had even so. */
static bool drop_one(int fd)
{
	int c;

	if (spare < 0)
		return false;
	close(steal_fd(&spare));
	c = accept(fd, NULL, NULL);
	if (c >= 0)
		close(c);
	keep_spare();
	if (c >= 0)
		log_warn("too many open files: a connection was dropped");
	return c >= 0;
}

static void on_pause_end(void *ctx)
{
	acceptor_start(ctx);
}

static void pause_a_moment(struct acceptor *a, int errnum)
{
	if (!a->said)
		log_warn("a connection has to wait: %s", strerror(errnum));
	a->said = true;
	watch_set(a->watch, 0);
	if (!a->pause)
		a->pause = deadline_new(a->loop, on_pause_end, a);
	deadline_in(a->pause, PAUSE_MS);
}

/* errnum: of accept(). Other errors are of a connection that broke in the queue, or say that it is empty. */
static void on_shortage(struct acceptor *a, int errnum)
{
	bool files = errnum == EMFILE || errnum == ENFILE;

	if ((files && !drop_one(a->fd)) || errnum == ENOBUFS || errnum == ENOMEM)
		pause_a_moment(a, errnum);
}

static void on_connection(void *ctx, unsigned events)
{
	struct acceptor *a = ctx;

	(void)events;
	keep_spare();
	for (int i = 0; i < AT_ONCE; i++) {
		int fd = accept_one(a->fd);

		if (fd < 0) {
			on_shortage(a, errno);
			return;
		}
		a->said = false;
		a->fn(a->ctx, fd);
	}
}

struct acceptor *acceptor_new(struct loop *l, int fd, void (*fn)(void *ctx, int fd), void *ctx)
{
	struct acceptor *a = xcalloc(1, sizeof(*a));

	*a = (struct acceptor){ .loop = l, .fd = fd, .fn = fn, .ctx = ctx };
	a->watch = watch_new(l, fd, on_connection, a);
	if (!a->watch)
		abort(); /* a socket can always be watched */
	return a;
}

void acceptor_start(struct acceptor *a)
{
	watch_set(a->watch, WATCH_READ);
}

int acceptor_fd(const struct acceptor *a)
{
	return a->fd;
}

void acceptor_free(struct acceptor *a)
{
	if (!a)
		return;
	watch_free(a->watch);
	deadline_free(a->pause);
	close(a->fd);
	free(a);
}
