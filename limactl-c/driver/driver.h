/* driver.h - carrying out a plan: one machine, started, paused, saved, restored, stopped.
 *
 * No operation blocks. An operation is begun; the machine has one descriptor to wait on; when it is ready
 * (or the deadline passed) step() goes on and hands out events. At most one operation is under way at a time,
 * except kill(), which is always allowed. The caller (the host agent) owns the loop.
 */
#ifndef LIMA_DRIVER_H
#define LIMA_DRIVER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/err.h"
#include "limactl-c/base/spawn.h"
#include "limactl-c/plan/plan.h"

enum vm_state { VM_OFF, VM_STARTING, VM_RUNNING, VM_PAUSED, VM_SAVING, VM_RESTORING, VM_STOPPING };

enum vm_snapshot { VM_SNAPSHOT_CREATE, VM_SNAPSHOT_APPLY, VM_SNAPSHOT_DELETE };

enum vm_event_type {
	VM_EV_NONE,
	VM_EV_DONE,      /* the operation begun last has succeeded; state() tells the new state */
	VM_EV_FAILED,    /* it has failed: error; state() tells the state it fell back to */
	VM_EV_POWERDOWN, /* the guest is shutting down by itself */
	VM_EV_RESUMED,   /* somebody else has let the machine go on, which somebody else had stopped */
	VM_EV_RESET,     /* the guest has reset the machine and boots again. error.kind ERR_NONE: why is not known; else
			  * error.msg is what its kernel said when it panicked. Several at once may be told as one. */
	VM_EV_EXITED,    /* the machine is gone unasked, or killed. error.kind ERR_NONE: by the guest's or our own wish;
			  * else error.msg says why. After a failed start or restore and after a done powerdown or save
			  * there is none: state() is VM_OFF then. */
};

struct vm_event {
	enum vm_event_type type;
	struct err error;
};

struct vm;

struct vm_driver {
	const char *name; /* "qemu" */

	/* Makes a machine object, state VM_OFF; plan and spawner must outlive it. */
	struct vm *(*open)(const struct plan *plan, struct spawner *spawner, struct err *e);
	/* What it shares with other instances (extra disks) is let go: for when it will not be started again. Those of a
	 * machine that runs stay its own. */
	void (*release)(struct vm *vm);
	void (*close)(struct vm *vm); /* lets go of the machine without stopping it */

	/* Operations. 0: begun; -1: not possible (error), nothing changed. */
	int (*start)(struct vm *vm, struct err *e);
	int (*adopt)(struct vm *vm, struct err *e);  /* a machine that a former host agent left running; ERR_NOTFOUND: none */
	int (*pause)(struct vm *vm, struct err *e);
	int (*resume)(struct vm *vm, struct err *e);
	/* Paused or running → state in a file (made anew, fsynced), machine gone (VM_OFF). On failure the file is removed
	 * and the machine is paused, or gone (VM_EV_EXITED follows). */
	int (*save)(struct vm *vm, const char *path, struct err *e);
	/* VM_OFF → VM_RUNNING. A state fits the disk only once: when it has been loaded, and before the machine runs, the
	 * driver removes the file, lastingly (fsync of its folder). On failure the machine is gone (VM_OFF); the file is
	 * there if and only if the machine never ran. */
	int (*restore)(struct vm *vm, const char *path, struct err *e);
	/* Running or paused, which it is afterwards too. A snapshot in the machine's disk, with its memory: made (there is none of
	 * that tag), gone back to, or deleted. It stands still meanwhile. The agent's carrier is to be closed before one is made or
	 * gone back to. When going back fails half way the machine is gone (VM_EV_EXITED follows). NULL: the driver has none. */
	int (*snapshot)(struct vm *vm, enum vm_snapshot what, const char *tag, struct err *e);
	/* Presses the power button, again and again while nobody listens; done when the machine is gone. A paused machine
	 * is resumed first. Fails after three minutes, the machine then runs on. */
	int (*powerdown)(struct vm *vm, struct err *e);
	/* Always allowed; an operation under way is dropped without an event of its own. VM_EV_EXITED follows. */
	void (*kill)(struct vm *vm);

	enum vm_state (*state)(const struct vm *vm);
	int (*fd)(const struct vm *vm);         /* -1 when there is nothing to wait on */
	short (*wants)(const struct vm *vm);    /* POLLIN, POLLOUT */
	int64_t (*deadline)(const struct vm *vm); /* ms on CLOCK_MONOTONIC to call step() at the latest, -1 = none */
	/* Goes on with what is ready. Fills *ev; call again until VM_EV_NONE. */
	void (*step)(struct vm *vm, struct vm_event *ev);
	/* The spawner reported that a child ended; a driver takes note of its own pid only. Call step() afterwards. */
	void (*child_exited)(struct vm *vm, pid_t pid, int status);

	/* The agent's carrier: a connected non-blocking stream socket, the caller's. Asked for after VM_EV_DONE of
	 * start, adopt, restore, and again whenever it was lost. */
	int (*carrier)(struct vm *vm, struct err *e);
	/* Memory that the guest agent sees too: a descriptor, the caller's; what it is backed by cannot shrink. -1: there is none.
	 * Another machine's is another one. NULL: the driver has none. */
	int (*memory)(const struct vm *vm);
	pid_t (*pid)(const struct vm *vm); /* of the machine's process, 0 when none */
};

/* NULL when this build has no such driver. */
const struct vm_driver *driver_find(enum plan_driver which);

#endif
