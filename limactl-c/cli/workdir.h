/* workdir.h - where a folder of the host is in the guest. */
#ifndef LIMA_CLI_WORKDIR_H
#define LIMA_CLI_WORKDIR_H

#include "limactl-c/config/config.h"

/* By the mounts: the innermost one that dir (absolute, without links) is in tells; in none, the same path, for /tmp and /etc
 * are everywhere. NULL when the guest has no mounts, and nothing of the host is there. The caller's. */
char *workdir_map(const struct cfg *c, const char *dir);

#endif
