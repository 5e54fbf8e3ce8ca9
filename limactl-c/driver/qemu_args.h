/* qemu_args.h - plan → QEMU's command line; pure, compared with golden files (tests/golden/NAME.argv). */
#ifndef LIMA_QEMU_ARGS_H
#define LIMA_QEMU_ARGS_H

#include <stdbool.h>

#include "limactl-c/plan/plan.h"

/* The descriptors QEMU is started with. All sockets are listening ones of ours: whoever connects finds them there
 * before QEMU runs, and they end with it. */
enum qemu_fd {
	QEMU_FD_LOCK = 3, /* vm.lock, only to be held */
	QEMU_FD_QMP_HA,
	QEMU_FD_QMP,
	QEMU_FD_AGENT,
	QEMU_FD_CONSOLE,
	QEMU_FD_END,
};

/* For vm_args_free(); argv[0] is the plan's QEMU program. incoming: wait for a saved state instead of booting. */
char **qemu_args_make(const struct plan *p, bool incoming);

#endif
