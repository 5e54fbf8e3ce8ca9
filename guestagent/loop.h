/* loop.h - the daemon's one event loop: epoll, children by signalfd, deadlines only while one is armed.
 *
 * With nothing to do the loop sits in one epoll_wait() without a timeout: no timer ticks, no poll, no wakeup.
 * Everything registered is a struct of the caller, embedded in what it belongs to (see ga_of()).
 */
#ifndef LIMA_GUESTAGENT_LOOP_H
#define LIMA_GUESTAGENT_LOOP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/types.h>

#include "lib/err.h"

/* The struct that has ptr as its member. */
#define ga_of(ptr, type, member) ((type *)(void *)((char *)(ptr) - offsetof(type, member)))

/* A descriptor. fn gets EPOLL* bits. The descriptor stays the caller's; take it out before closing it. */
struct ga_watch {
	int fd; /* -1: not watched */
	void (*fn)(struct ga_watch *w, uint32_t events);
};

/* A deadline; fires once. */
struct ga_timer {
	int64_t at; /* ms on CLOCK_MONOTONIC */
	bool armed;
	void (*fn)(struct ga_timer *t);
	struct ga_timer *next;
};

/* A child process; fn gets waitpid()'s status, once. */
struct ga_child {
	pid_t pid;
	void (*fn)(struct ga_child *c, int status);
	struct ga_child *next;
};

struct ga_loop {
	int epoll;
	bool quit;
	struct ga_watch signals;
	struct ga_timer *timers;
	struct ga_child *children;
	struct epoll_event batch[64]; /* events being handed out */
	int at, count;
	void (*before_sleep)(void *ctx); /* may be NULL */
	void *ctx;
};

/* Blocks SIGCHLD, SIGTERM and SIGINT for the process; the latter two end ga_loop_run(). */
int ga_loop_init(struct ga_loop *l, struct err *e);
void ga_loop_free(struct ga_loop *l);
void ga_loop_run(struct ga_loop *l); /* until l->quit */

/* events: EPOLL* bits, EPOLLET where edges are wanted. */
int ga_loop_add(struct ga_loop *l, struct ga_watch *w, uint32_t events); /* -1 with errno set */
/* Asks for events anew; with EPOLLET a descriptor that is ready is told again. */
void ga_loop_change(struct ga_loop *l, struct ga_watch *w, uint32_t events);
void ga_loop_del(struct ga_loop *l, struct ga_watch *w); /* no call of w->fn after it, fd becomes -1; not closed */
void ga_loop_close(struct ga_loop *l, struct ga_watch *w); /* ga_loop_del() and close(); nothing when fd is -1 */

void ga_timer_set(struct ga_loop *l, struct ga_timer *t, int ms); /* from now; moves an armed one */
void ga_timer_stop(struct ga_loop *l, struct ga_timer *t);

void ga_child_add(struct ga_loop *l, struct ga_child *c);
void ga_child_del(struct ga_loop *l, struct ga_child *c); /* its end is no longer told; it is still reaped */

#endif
