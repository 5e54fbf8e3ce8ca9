#include "limactl-c/hostagent/vm.h"

#include <poll.h>
#include <stdlib.h>

#include "lib/log.h"
#include "limactl-c/base/mem.h"

struct vmctl {
	struct loop *loop;
	const struct vm_driver *ops;
	struct vm *vm;
	struct spawner *spawner;
	void (*event)(void *ctx, const struct vm_event *ev);
	void *ctx;
	struct watch *watch; /* of the driver's descriptor */
	struct watch *children;
	struct deadline *deadline;
};

static void step(struct vmctl *v);

static void on_fd(void *ctx, unsigned events)
{
	(void)events;
	step(ctx);
}

static void on_deadline(void *ctx)
{
	step(ctx);
}

static void disarm(struct vmctl *v)
{
	watch_free(v->watch);
	v->watch = NULL;
	deadline_stop(v->deadline);
}

/* The driver may have closed its descriptor and opened another with the same number, so the watch is always new. */
static void arm(struct vmctl *v)
{
	int fd = v->ops->fd(v->vm);
	int64_t at = v->ops->deadline(v->vm);
	short wants = v->ops->wants(v->vm);

	if (fd >= 0 && (v->watch = watch_new(v->loop, fd, on_fd, v)))
		watch_set(v->watch, (wants & POLLIN ? WATCH_READ : 0) | (wants & POLLOUT ? WATCH_WRITE : 0));
	if (at >= 0)
		deadline_at(v->deadline, at);
}

static void step(struct vmctl *v)
{
	struct vm_event ev;

	disarm(v);
	for (;;) {
		ev = (struct vm_event){ .type = VM_EV_NONE };
		v->ops->step(v->vm, &ev);
		if (ev.type == VM_EV_NONE)
			break;
		v->event(v->ctx, &ev);
	}
	disarm(v); /* an operation begun by event() has armed it */
	arm(v);
}

/* What an operation did at once is handed out from the loop. */
static void step_soon(struct vmctl *v)
{
	disarm(v);
	arm(v);
	deadline_in(v->deadline, 0);
}

static void on_children(void *ctx, unsigned events)
{
	struct vmctl *v = ctx;
	pid_t pid;
	int status, got;

	(void)events;
	while ((got = spawner_next(v->spawner, &pid, &status)) > 0)
		v->ops->child_exited(v->vm, pid, status);
	if (got < 0) {
		log_error("the spawner process is gone: the machine goes on, but cannot be started again");
		watch_free(v->children);
		v->children = NULL;
	}
	step(v);
}

static int snapshot(struct vmctl *v, enum vm_snapshot what, const char *tag, struct err *e)
{
	return v->ops->snapshot ? v->ops->snapshot(v->vm, what, tag, e) :
				  err_set(e, ERR_STATE, "machines of the driver \"%s\" have no snapshots while they run", v->ops->name);
}

int vmctl_begin(struct vmctl *v, enum vmctl_op op, const char *path, struct err *e)
{
	int r = -1;

	disarm(v);
	switch (op) {
	case VMCTL_ADOPT:
		r = v->ops->adopt(v->vm, e);
		break;
	case VMCTL_START:
		r = v->ops->start(v->vm, e);
		break;
	case VMCTL_PAUSE:
		r = v->ops->pause(v->vm, e);
		break;
	case VMCTL_RESUME:
		r = v->ops->resume(v->vm, e);
		break;
	case VMCTL_SAVE:
		r = v->ops->save(v->vm, path, e);
		break;
	case VMCTL_RESTORE:
		r = v->ops->restore(v->vm, path, e);
		break;
	case VMCTL_SNAPSHOT_CREATE:
	case VMCTL_SNAPSHOT_APPLY:
	case VMCTL_SNAPSHOT_DELETE:
		r = snapshot(v, (enum vm_snapshot)(op - VMCTL_SNAPSHOT_CREATE), path, e);
		break;
	case VMCTL_POWERDOWN:
		r = v->ops->powerdown(v->vm, e);
		break;
	case VMCTL_NONE:
		r = 0;
		break;
	}
	step_soon(v);
	return r;
}

void vmctl_release(struct vmctl *v)
{
	v->ops->release(v->vm);
}

void vmctl_kill(struct vmctl *v)
{
	v->ops->kill(v->vm);
	step_soon(v);
}

enum vm_state vmctl_state(const struct vmctl *v)
{
	return v->ops->state(v->vm);
}

pid_t vmctl_pid(const struct vmctl *v)
{
	return v->ops->pid(v->vm);
}

int vmctl_carrier(struct vmctl *v, struct err *e)
{
	return v->ops->carrier(v->vm, e);
}

int vmctl_memory(const struct vmctl *v)
{
	return v->ops->memory ? v->ops->memory(v->vm) : -1;
}

struct vmctl *vmctl_new(struct loop *l, const struct vm_driver *driver, const struct plan *plan,
			struct spawner *spawner, void (*event)(void *ctx, const struct vm_event *ev), void *ctx, struct err *e)
{
	struct vm *vm = driver->open(plan, spawner, e);
	struct vmctl *v;

	if (!vm)
		return NULL;
	v = xcalloc(1, sizeof(*v));
	*v = (struct vmctl){ .loop = l, .ops = driver, .vm = vm, .spawner = spawner, .event = event, .ctx = ctx };
	v->deadline = deadline_new(l, on_deadline, v);
	v->children = watch_new(l, spawner_fd(spawner), on_children, v);
	if (!v->children)
		abort(); /* a pipe can always be watched */
	watch_set(v->children, WATCH_READ);
	return v;
}

void vmctl_free(struct vmctl *v)
{
	if (!v)
		return;
	watch_free(v->watch);
	watch_free(v->children);
	deadline_free(v->deadline);
	v->ops->close(v->vm);
	free(v);
}
