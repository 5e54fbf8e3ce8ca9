/* shares.h - the host's side of mounts, made ready before a start. */
#ifndef LIMA_CLI_SHARES_H
#define LIMA_CLI_SHARES_H

#include "limactl-c/plan/plan.h"

/* Makes the folders that are missing, for their owner only, and looks whether each can be read. What is wrong with any is said
 * in one error. */
int shares_prepare(const struct plan *p, struct err *e);

#endif
