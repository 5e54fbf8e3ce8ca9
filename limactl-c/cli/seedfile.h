/* seedfile.h - the volume "cidata" of an instance, written when it is made and at every start. */
#ifndef LIMA_CLI_SEEDFILE_H
#define LIMA_CLI_SEEDFILE_H

#include "lib/err.h"
#include "limactl-c/config/config.h"
#include "limactl-c/plan/host.h"
#include "limactl-c/plan/plan.h"

/* Nothing when the plan has no seed. What it holds is the owner's alone. */
int seedfile_write(const struct cfg *c, const struct plan_host *h, const struct plan *p, struct err *e);

#endif
