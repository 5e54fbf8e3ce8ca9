#include "guestagent/accept.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "lib/log.h"

enum {
	AT_ONCE = 16,
	RETRY_MS = 100,
};

static void look_again(struct ga_accept *a)
{
	ga_loop_change(a->loop, &a->watch, EPOLLIN | EPOLLET);
}

static void on_retry(struct ga_timer *t)
{
	look_again(ga_of(t, struct ga_accept, retry));
}

/* The errors of a connection that broke while it waited are its own (accept(2)). */
static bool is_shortage(int errnum)
{
	return errnum == EMFILE || errnum == ENFILE || errnum == ENOBUFS || errnum == ENOMEM;
}

static void on_connection(struct ga_watch *w, uint32_t events)
{
	struct ga_accept *a = ga_of(w, struct ga_accept, watch);

	(void)events;
	for (int i = 0; i < AT_ONCE; i++) {
		int fd = accept4(w->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

		if (fd >= 0) {
			a->take(a, fd);
			if (w->fd < 0)
				return;
		} else if (errno == EAGAIN) {
			return;
		} else if (is_shortage(errno)) {
			log_error("%s: %s", a->name, strerror(errno));
			ga_timer_set(a->loop, &a->retry, RETRY_MS);
			return;
		}
	}
	look_again(a);
}

int ga_accept_start(struct ga_accept *a, int fd)
{
	a->watch = (struct ga_watch){ fd, on_connection };
	a->retry.fn = on_retry;
	if (ga_loop_add(a->loop, &a->watch, EPOLLIN | EPOLLET) == 0)
		return 0;
	a->watch.fd = -1;
	return -1;
}

void ga_accept_stop(struct ga_accept *a)
{
	ga_timer_stop(a->loop, &a->retry);
	ga_loop_del(a->loop, &a->watch);
}

void ga_accept_close(struct ga_accept *a)
{
	ga_timer_stop(a->loop, &a->retry);
	ga_loop_close(a->loop, &a->watch);
}
