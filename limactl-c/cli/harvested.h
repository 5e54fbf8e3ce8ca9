/* harvested.h - the kernel a guest was found to have at an earlier start, when it may be used for this one. */
#ifndef LIMA_CLI_HARVESTED_H
#define LIMA_CLI_HARVESTED_H

#include "limactl-c/cli/find.h"
#include "limactl-c/plan/plan.h"

/* Fills kernel, initrd and boot_args of f, which has harvest set. One that cannot be used is said and not used, and the
 * guest's own loader starts it. */
void harvested_find(struct found *f, const struct plan *former);

#endif
