/* driver_util.h - driving a machine in tests as the host agent does: wait on what the driver says, step, take events. */
#ifndef LIMA_TESTS_DRIVER_UTIL_H
#define LIMA_TESTS_DRIVER_UTIL_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka wants these first */
#include <cmocka.h>

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "limactl-c/driver/drivers.h"

struct rig {
	char dir[40];
	struct plan plan;
	struct spawner *spawner;
	const struct vm_driver *ops;
	struct vm *vm;
};

static inline int64_t rig_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000LL + t.tv_nsec / 1000000;
}

static inline void rig_open(struct rig *r)
{
	struct err e = { 0 };

	r->spawner = spawner_new(&e);
	assert_non_null(r->spawner);
	r->vm = r->ops->open(&r->plan, r->spawner, &e);
	assert_non_null(r->vm);
}

/* As a host agent that dies: the machine is let go of. */
static inline void rig_close(struct rig *r)
{
	r->ops->close(r->vm);
	spawner_free(r->spawner);
	r->vm = NULL;
}

static inline void rig_children(struct rig *r)
{
	pid_t pid;
	int status;

	while (spawner_next(r->spawner, &pid, &status) > 0)
		r->ops->child_exited(r->vm, pid, status);
}

/* Waits until the driver hands out an event, at most ms. VM_EV_NONE when none came. */
static inline struct vm_event rig_event_within(struct rig *r, int ms)
{
	struct vm_event ev = { .type = VM_EV_NONE };
	int64_t end = rig_now() + ms;

	for (;;) {
		struct pollfd p[2] = { { .fd = r->ops->fd(r->vm), .events = r->ops->wants(r->vm) },
				       { .fd = spawner_fd(r->spawner), .events = POLLIN } };
		int64_t now, until = end, at;

		r->ops->step(r->vm, &ev);
		now = rig_now();
		if (ev.type != VM_EV_NONE || now >= end)
			return ev;
		p[0].fd = r->ops->fd(r->vm);
		at = r->ops->deadline(r->vm);
		if (at >= 0 && at < until)
			until = at;
		poll(p, 2, until > now ? (int)(until - now) : 0);
		rig_children(r);
	}
}

static inline struct vm_event rig_event(struct rig *r)
{
	return rig_event_within(r, 20000);
}

static inline void rig_expect(struct rig *r, enum vm_event_type type, enum vm_state state)
{
	struct vm_event ev = rig_event(r);

	if (ev.type != type)
		fprintf(stderr, "event %d instead of %d: %s\n", ev.type, type, ev.error.msg);
	assert_int_equal(ev.type, type);
	assert_int_equal(r->ops->state(r->vm), state);
}

static inline void rig_fails(struct rig *r, enum vm_event_type type, enum vm_state state, const char *words)
{
	struct vm_event ev = rig_event(r);

	assert_int_equal(ev.type, type);
	assert_int_equal(r->ops->state(r->vm), state);
	if (!strstr(ev.error.msg, words))
		fprintf(stderr, "\"%s\" is not in \"%s\"\n", words, ev.error.msg);
	assert_non_null(strstr(ev.error.msg, words));
}

static inline void rig_quiet(struct rig *r)
{
	assert_int_equal(rig_event_within(r, 50).type, VM_EV_NONE);
}

#define RIG_BEGIN(r, op, ...)                                                             \
	do {                                                                              \
		struct err rig_e = { 0 };                                                 \
		if ((r)->ops->op((r)->vm, ##__VA_ARGS__, &rig_e) != 0)                    \
			fail_msg("%s: %s", #op, rig_e.msg);                               \
	} while (0)

#define RIG_REFUSED(r, op, ...)                                                           \
	do {                                                                              \
		struct err rig_e = { 0 };                                                 \
		assert_int_equal((r)->ops->op((r)->vm, ##__VA_ARGS__, &rig_e), -1);       \
		assert_int_equal(rig_e.kind, ERR_STATE);                                  \
	} while (0)

static inline bool rig_has(const struct rig *r, const char *file)
{
	char path[100];

	snprintf(path, sizeof(path), "%s/%s", r->dir, file);
	return access(path, F_OK) == 0;
}

#endif
