/* disks.h - the locks of a machine's extra disks: held by the host agent and, by inheritance, by the machine itself. */
#ifndef LIMA_DRIVER_DISKS_H
#define LIMA_DRIVER_DISKS_H

#include "limactl-c/base/spawn.h"
#include "limactl-c/plan/plan.h"

struct vm_disks {
	int fd[PLAN_EXTRA_MAX];
	size_t count;
};

/* Takes those of the plan, unless they are held already, all or none; appends them to what s hands over. */
int vm_disks_lock(struct vm_disks *d, const struct plan *p, struct spawn *s, struct err *e);

/* Lets go of them. off: the machine has ended, so nobody uses them any more. */
void vm_disks_release(struct vm_disks *d, const struct plan *p, bool off);

#endif
