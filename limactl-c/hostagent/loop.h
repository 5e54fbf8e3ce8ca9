/* loop.h - the host agent's event loop: descriptors, deadlines, signals; the only user of libuv.
 *
 * One thread. Nothing ticks: while no descriptor is ready and no deadline is set, the process sleeps.
 * Objects are freed at once for the caller; libuv's asynchronous close happens behind.
 */
#ifndef LIMA_HOSTAGENT_LOOP_H
#define LIMA_HOSTAGENT_LOOP_H

#include <stdint.h>

struct loop;

struct loop *loop_new(void); /* aborts when the system gives no loop */
void loop_run(struct loop *l);  /* until loop_stop() */
void loop_stop(struct loop *l); /* loop_run() returns after the present callback */
void loop_free(struct loop *l); /* every watch and deadline was freed before */

/* Called before each wait, so work of one round can be put together. */
void loop_before_wait(struct loop *l, void (*fn)(void *ctx), void *ctx);
void loop_on_signal(struct loop *l, int signum, void (*fn)(void *ctx, int signum), void *ctx);

/* --- descriptors --- */

/* WATCH_HANGUP: the peer will send no more; for who does not read just then. WATCH_URGENT: as poll() tells with POLLPRI. */
enum { WATCH_READ = 1, WATCH_WRITE = 2, WATCH_ERROR = 4, WATCH_HANGUP = 8, WATCH_URGENT = 16 };

struct watch;

/* Watches fd, which is borrowed and becomes non-blocking; free the watch before closing it. Nothing is reported until
 * watch_set(). NULL: this kind of descriptor cannot be waited for (a regular file). fn may free the watch. */
struct watch *watch_new(struct loop *l, int fd, void (*fn)(void *ctx, unsigned events), void *ctx);
/* Which events are wanted; WATCH_ERROR is reported with any, and nothing more after it until the next watch_set(). */
void watch_set(struct watch *w, unsigned events);
/* From now on WATCH_ERROR is also reported, once, when the connection breaks while nothing is watched for. Nothing where
 * the system does not tell (it does on Linux). */
void watch_breaks(struct watch *w);
void watch_free(struct watch *w); /* NULL is allowed */

/* --- deadlines --- */

struct deadline;

struct deadline *deadline_new(struct loop *l, void (*fn)(void *ctx), void *ctx);
void deadline_at(struct deadline *d, int64_t ms); /* on CLOCK_MONOTONIC; replaces the one set before */
void deadline_in(struct deadline *d, int64_t ms); /* from now */
void deadline_stop(struct deadline *d);
void deadline_free(struct deadline *d); /* NULL is allowed */

/* --- files --- */

struct change;

/* fn is called when something was done to the file at path, its removal included. NULL: the system cannot tell. */
struct change *change_new(struct loop *l, const char *path, void (*fn)(void *ctx), void *ctx);
void change_free(struct change *c); /* NULL is allowed */

#endif
