/* sshfile.h - how this host's ssh reaches an instance: its port, its keys, the text of ssh.config. */
#ifndef LIMA_CLI_SSHFILE_H
#define LIMA_CLI_SSHFILE_H

#include <stdint.h>

#include "lib/buf.h"
#include "lib/err.h"
#include "limactl-c/config/config.h"
#include "limactl-c/plan/host.h"
#include "limactl-c/plan/plan.h"

/* Puts what the plan depends on into *h: port and keys. former: the instance's last plan, or NULL. dir: its folder. starts: it
 * is about to be started, so the port must be free: the one that is asked for, or that it had, or another. */
int sshfile_probe(const struct cfg *c, const struct plan *former, const char *dir, bool starts, struct plan_host *h,
		  struct err *e);

/* <dir>/ssh.config; nothing while there is no port. */
int sshfile_write(const struct plan *p, struct err *e);
/* All options that ssh needs, "KEY VALUE" lines; malloc'd. */
char *sshfile_options(const struct plan *p);
/* The text of the file; -1 when it does not fit. */
int sshfile_text(const struct plan *p, struct buf *out);

#endif
