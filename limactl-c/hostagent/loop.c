#include "limactl-c/hostagent/loop.h"

#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>
#include <uv.h>
#ifdef __linux__
#include <sys/epoll.h>
#endif

#include "lib/clock.h"
#include "limactl-c/base/mem.h"

enum { SIGNALS_MAX = 4 };

struct signal_handler {
	uv_signal_t uv;
	void (*fn)(void *ctx, int signum);
	void *ctx;
};

struct loop {
	uv_loop_t uv;
	uv_prepare_t prepare;
	void (*before_wait)(void *ctx);
	void *before_ctx;
	struct signal_handler signal[SIGNALS_MAX];
	size_t signals;
	int breaks; /* see watch_breaks(), -1 before the first */
	struct watch *breaks_watch;
};

struct watch {
	uv_poll_t uv;
	void (*fn)(void *ctx, unsigned events);
	void *ctx;
	unsigned events; /* asked of libuv at present */
	int fd;
	bool breaks; /* it is in the loop's set of those */
};

struct deadline {
	uv_timer_t uv;
	void (*fn)(void *ctx);
	void *ctx;
};

struct change {
	uv_fs_event_t uv;
	void (*fn)(void *ctx);
	void *ctx;
};

/* libuv fails here only for want of memory or descriptors at the very start. */
static void must(int status)
{
	if (status < 0)
		abort();
}

struct loop *loop_new(void)
{
	struct loop *l = xcalloc(1, sizeof(*l));

	must(uv_loop_init(&l->uv));
	must(uv_prepare_init(&l->uv, &l->prepare));
	l->breaks = -1;
	return l;
}

void loop_run(struct loop *l)
{
	uv_run(&l->uv, UV_RUN_DEFAULT);
}

void loop_stop(struct loop *l)
{
	uv_stop(&l->uv);
}

void loop_free(struct loop *l)
{
	uv_close((uv_handle_t *)&l->prepare, NULL);
	watch_free(l->breaks_watch);
	for (size_t i = 0; i < l->signals; i++)
		uv_close((uv_handle_t *)&l->signal[i].uv, NULL);
	/* Runs the close callbacks that free watches and deadlines. */
	while (uv_run(&l->uv, UV_RUN_NOWAIT))
		;
	uv_loop_close(&l->uv);
	if (l->breaks >= 0)
		close(l->breaks);
	free(l);
}

static void on_prepare(uv_prepare_t *h)
{
	struct loop *l = (struct loop *)h->loop;

	l->before_wait(l->before_ctx);
}

void loop_before_wait(struct loop *l, void (*fn)(void *ctx), void *ctx)
{
	l->before_wait = fn;
	l->before_ctx = ctx;
	must(uv_prepare_start(&l->prepare, on_prepare));
}

static void on_signal(uv_signal_t *h, int signum)
{
	struct signal_handler *s = (struct signal_handler *)h;

	s->fn(s->ctx, signum);
}

void loop_on_signal(struct loop *l, int signum, void (*fn)(void *ctx, int signum), void *ctx)
{
	struct signal_handler *s;

	if (l->signals == SIGNALS_MAX)
		abort();
	s = &l->signal[l->signals++];
	s->fn = fn;
	s->ctx = ctx;
	must(uv_signal_init(&l->uv, &s->uv));
	must(uv_signal_start(&s->uv, on_signal, signum));
}

static void on_closed(uv_handle_t *h)
{
	free(h); /* the handle is the first member of what was allocated */
}

/* --- descriptors --- */

static void on_poll(uv_poll_t *h, int status, int events)
{
	struct watch *w = (struct watch *)h;

	if (status < 0) {
		w->events = 0; /* libuv has stopped the handle */
		w->fn(w->ctx, WATCH_ERROR);
		return;
	}
	w->fn(w->ctx, (events & UV_READABLE ? WATCH_READ : 0) | (events & UV_WRITABLE ? WATCH_WRITE : 0) |
			      (events & UV_DISCONNECT ? WATCH_HANGUP : 0) | (events & UV_PRIORITIZED ? WATCH_URGENT : 0));
}

struct watch *watch_new(struct loop *l, int fd, void (*fn)(void *ctx, unsigned events), void *ctx)
{
	struct watch *w = xcalloc(1, sizeof(*w));

	if (uv_poll_init(&l->uv, &w->uv, fd) < 0) {
		free(w);
		return NULL;
	}
	w->fn = fn;
	w->ctx = ctx;
	w->fd = fd;
	return w;
}

void watch_set(struct watch *w, unsigned events)
{
	int uv = (events & WATCH_READ ? UV_READABLE : 0) | (events & WATCH_WRITE ? UV_WRITABLE : 0) |
		 (events & WATCH_HANGUP ? UV_DISCONNECT : 0) | (events & WATCH_URGENT ? UV_PRIORITIZED : 0);

	if (events == w->events)
		return;
	w->events = events;
	must(uv ? uv_poll_start(&w->uv, uv, on_poll) : uv_poll_stop(&w->uv));
}

#ifdef __linux__
/* libuv waits for nothing of a descriptor it shall neither read nor write, and level triggered hangups would keep it busy
 * after a half-close. So those that want to hear of a reset meanwhile are in a set of their own, edge triggered. */
static void on_breaks(void *ctx, unsigned events)
{
	struct loop *l = ctx;
	struct epoll_event ev;
	struct watch *w;

	(void)events;
	/* One at a time: a handler may free other watches. */
	while (epoll_wait(l->breaks, &ev, 1, 0) == 1) {
		w = ev.data.ptr;
		w->fn(w->ctx, WATCH_ERROR);
	}
}

void watch_breaks(struct watch *w)
{
	struct loop *l = (struct loop *)w->uv.loop;
	struct epoll_event ev = { .events = EPOLLET, .data.ptr = w };

	if (w->breaks)
		return;
	if (l->breaks < 0) {
		l->breaks = epoll_create1(EPOLL_CLOEXEC);
		l->breaks_watch = watch_new(l, l->breaks, on_breaks, l);
		must(l->breaks_watch ? 0 : -1);
		watch_set(l->breaks_watch, WATCH_READ);
	}
	w->breaks = epoll_ctl(l->breaks, EPOLL_CTL_ADD, w->fd, &ev) == 0;
}

static void forget_breaks(struct watch *w)
{
	struct loop *l = (struct loop *)w->uv.loop;

	if (w->breaks)
		epoll_ctl(l->breaks, EPOLL_CTL_DEL, w->fd, NULL);
}
#else
void watch_breaks(struct watch *w)
{
	(void)w;
}

static void forget_breaks(struct watch *w)
{
	(void)w;
}
#endif

void watch_free(struct watch *w)
{
	if (!w)
		return;
	forget_breaks(w);
	uv_close((uv_handle_t *)&w->uv, on_closed);
}

/* --- deadlines --- */

static void on_timer(uv_timer_t *h)
{
	struct deadline *d = (struct deadline *)h;

	d->fn(d->ctx);
}

struct deadline *deadline_new(struct loop *l, void (*fn)(void *ctx), void *ctx)
{
	struct deadline *d = xcalloc(1, sizeof(*d));

	must(uv_timer_init(&l->uv, &d->uv));
	d->fn = fn;
	d->ctx = ctx;
	return d;
}

void deadline_in(struct deadline *d, int64_t ms)
{
	uv_update_time(d->uv.loop); /* libuv counts from its own, older idea of now */
	must(uv_timer_start(&d->uv, on_timer, ms > 0 ? (uint64_t)ms : 0, 0));
}

void deadline_at(struct deadline *d, int64_t ms)
{
	deadline_in(d, ms - clock_ms());
}

void deadline_stop(struct deadline *d)
{
	uv_timer_stop(&d->uv);
}

void deadline_free(struct deadline *d)
{
	if (d)
		uv_close((uv_handle_t *)&d->uv, on_closed);
}

/* --- files --- */

static void on_change(uv_fs_event_t *h, const char *name, int events, int status)
{
	struct change *c = (struct change *)h;

	(void)name;
	(void)events;
	(void)status;
	c->fn(c->ctx);
}

struct change *change_new(struct loop *l, const char *path, void (*fn)(void *ctx), void *ctx)
{
	struct change *c = xcalloc(1, sizeof(*c));

	must(uv_fs_event_init(&l->uv, &c->uv));
	c->fn = fn;
	c->ctx = ctx;
	if (uv_fs_event_start(&c->uv, on_change, path, 0) == 0)
		return c;
	change_free(c);
	return NULL;
}

void change_free(struct change *c)
{
	if (c)
		uv_close((uv_handle_t *)&c->uv, on_closed);
}
