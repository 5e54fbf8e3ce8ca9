/* vm.h - the driver's machine on our loop: its descriptor, its deadline, its children, one operation at a time. */
#ifndef LIMA_HOSTAGENT_VM_H
#define LIMA_HOSTAGENT_VM_H

#include "limactl-c/driver/driver.h"
#include "limactl-c/hostagent/loop.h"

struct vmctl;

enum vmctl_op {
	VMCTL_NONE,
	VMCTL_ADOPT,
	VMCTL_START,
	VMCTL_PAUSE,
	VMCTL_RESUME,
	VMCTL_SAVE,
	VMCTL_RESTORE,
	VMCTL_SNAPSHOT_CREATE, /* these three as enum vm_snapshot */
	VMCTL_SNAPSHOT_APPLY,
	VMCTL_SNAPSHOT_DELETE,
	VMCTL_POWERDOWN,
};

/* event is called from the loop for each event of the driver, never from within a vmctl function. */
struct vmctl *vmctl_new(struct loop *l, const struct vm_driver *driver, const struct plan *plan,
			struct spawner *spawner, void (*event)(void *ctx, const struct vm_event *ev), void *ctx, struct err *e);
void vmctl_free(struct vmctl *v); /* lets go of a machine that runs; NULL is allowed */

/* Begins an operation; path is for save and restore; for snapshots it is the tag. VM_EV_DONE or VM_EV_FAILED follows, or VM_EV_EXITED. */
int vmctl_begin(struct vmctl *v, enum vmctl_op op, const char *path, struct err *e);
void vmctl_release(struct vmctl *v); /* see driver.h; before the end is told */
void vmctl_kill(struct vmctl *v);

enum vm_state vmctl_state(const struct vmctl *v);
pid_t vmctl_pid(const struct vmctl *v);
int vmctl_carrier(struct vmctl *v, struct err *e);
int vmctl_memory(const struct vmctl *v); /* shared with the guest agent: a descriptor, or -1 */

#endif
