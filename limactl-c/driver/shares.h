/* shares.h - the servers of a QEMU machine's virtiofs mounts: one each, which ends when QEMU does. */
#ifndef LIMA_DRIVER_SHARES_H
#define LIMA_DRIVER_SHARES_H

#include "limactl-c/base/spawn.h"
#include "limactl-c/plan/plan.h"

struct vm_shares {
	pid_t pid[PLAN_MOUNT_MAX];
	int pidfd[PLAN_MOUNT_MAX];
	size_t count;
};

char *vm_share_socket(const struct plan *p, size_t mount); /* what QEMU connects to; malloc'd */

/* Starts those of the plan, before QEMU. On failure none is left. */
int vm_shares_start(struct vm_shares *s, const struct plan *p, struct spawner *spawner, struct err *e);

/* QEMU has ended, or was not started: whoever still waits for it ends, and the sockets go. Also for a machine whose servers
 * somebody else started. */
void vm_shares_end(struct vm_shares *s, const struct plan *p);

/* The arguments of one, for vm_args_free(); the socket it listens on is descriptor 3. */
char **vm_share_args(const struct plan *p, const struct plan_mount *m, bool root);

#endif
