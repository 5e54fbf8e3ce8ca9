#include "guestagent/loop.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/clock.h"
#include "lib/log.h"

static void reap(struct ga_loop *l)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
		struct ga_child **at = &l->children, *c;

		while (*at && (*at)->pid != pid)
			at = &(*at)->next;
		c = *at;
		if (!c)
			continue;
		*at = c->next;
		c->next = NULL;
		c->pid = 0;
		c->fn(c, status);
	}
}

static void on_signal(struct ga_watch *w, uint32_t events)
{
	struct ga_loop *l = ga_of(w, struct ga_loop, signals);
	struct signalfd_siginfo info;

	(void)events;
	while (read(w->fd, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
		if (info.ssi_signo == SIGCHLD)
			reap(l);
		else
			l->quit = true;
	}
}

int ga_loop_init(struct ga_loop *l, struct err *e)
{
	sigset_t set;

	memset(l, 0, sizeof(*l));
	l->signals.fd = -1;
	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigprocmask(SIG_BLOCK, &set, NULL);
	l->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (l->epoll < 0)
		return err_errno(e, "epoll_create1");
	l->signals.fn = on_signal;
	l->signals.fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (l->signals.fd < 0 || ga_loop_add(l, &l->signals, EPOLLIN) < 0) {
		err_errno(e, "signalfd");
		ga_loop_free(l);
		return -1;
	}
	return 0;
}

void ga_loop_free(struct ga_loop *l)
{
	ga_loop_close(l, &l->signals);
	if (l->epoll >= 0)
		close(l->epoll);
	l->epoll = -1;
}

int ga_loop_add(struct ga_loop *l, struct ga_watch *w, uint32_t events)
{
	struct epoll_event ev = { .events = events, .data.ptr = w };

	return epoll_ctl(l->epoll, EPOLL_CTL_ADD, w->fd, &ev);
}

void ga_loop_change(struct ga_loop *l, struct ga_watch *w, uint32_t events)
{
	struct epoll_event ev = { .events = events, .data.ptr = w };

	if (epoll_ctl(l->epoll, EPOLL_CTL_MOD, w->fd, &ev) < 0)
		log_error("epoll_ctl: %s", strerror(errno));
}

void ga_loop_del(struct ga_loop *l, struct ga_watch *w)
{
	if (w->fd < 0)
		return;
	/* Taken out by hand: a forked child may hold the same open file until it executes. */
	epoll_ctl(l->epoll, EPOLL_CTL_DEL, w->fd, NULL);
	for (int i = l->at; i < l->count; i++)
		if (l->batch[i].data.ptr == w)
			l->batch[i].data.ptr = NULL;
	w->fd = -1;
}

void ga_loop_close(struct ga_loop *l, struct ga_watch *w)
{
	int fd = w->fd;

	ga_loop_del(l, w);
	if (fd >= 0)
		close(fd);
}

void ga_timer_set(struct ga_loop *l, struct ga_timer *t, int ms)
{
	t->at = clock_ms() + ms;
	if (t->armed)
		return;
	t->armed = true;
	t->next = l->timers;
	l->timers = t;
}

void ga_timer_stop(struct ga_loop *l, struct ga_timer *t)
{
	struct ga_timer **at = &l->timers;

	if (!t->armed)
		return;
	while (*at != t)
		at = &(*at)->next;
	*at = t->next;
	t->armed = false;
}

/* ms until the nearest deadline, -1 without one. */
static int timeout(const struct ga_loop *l)
{
	int64_t now, first = INT64_MAX;

	if (!l->timers)
		return -1;
	for (const struct ga_timer *t = l->timers; t; t = t->next)
		if (t->at < first)
			first = t->at;
	now = clock_ms();
	if (first <= now)
		return 0;
	return first - now > INT32_MAX ? INT32_MAX : (int)(first - now);
}

static void fire(struct ga_loop *l)
{
	int64_t now;
	struct ga_timer *t;

	if (!l->timers)
		return;
	now = clock_ms();
	do {
		/* A handler may change the list, so it is searched again after each. */
		for (t = l->timers; t && t->at > now; t = t->next)
			;
		if (t) {
			ga_timer_stop(l, t);
			t->fn(t);
		}
	} while (t);
}

void ga_child_add(struct ga_loop *l, struct ga_child *c)
{
	c->next = l->children;
	l->children = c;
}

void ga_child_del(struct ga_loop *l, struct ga_child *c)
{
	for (struct ga_child **at = &l->children; *at; at = &(*at)->next) {
		if (*at == c) {
			*at = c->next;
			return;
		}
	}
}

void ga_loop_run(struct ga_loop *l)
{
	while (!l->quit) {
		if (l->before_sleep)
			l->before_sleep(l->ctx);
		if (l->quit)
			break;
		l->count = epoll_wait(l->epoll, l->batch, sizeof(l->batch) / sizeof(l->batch[0]), timeout(l));
		if (l->count < 0) {
			if (errno == EINTR)
				continue;
			log_error("epoll_wait: %s", strerror(errno));
			return;
		}
		for (l->at = 0; l->at < l->count; l->at++) {
			struct ga_watch *w = l->batch[l->at].data.ptr;

			if (w)
				w->fn(w, l->batch[l->at].events);
		}
		l->count = 0;
		fire(l);
	}
}
