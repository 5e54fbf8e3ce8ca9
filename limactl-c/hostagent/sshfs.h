/* sshfs.h - folders of the host that the guest mounts by sshfs: a server of its own for each (libexec/limactl-c/sftp), behind a
 * stream of the guest.
 *
 * One after the other, in the plan's order: what lies in another is mounted when that is. A mount that ends is made again;
 * what could not be mounted is tried again when the guest's scripts have run, and when its agent is a new one.
 */
#ifndef LIMA_HOSTAGENT_SSHFS_H
#define LIMA_HOSTAGENT_SSHFS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "limactl-c/base/jsonx.h"
#include "limactl-c/base/spawn.h"
#include "limactl-c/hostagent/conn.h"
#include "limactl-c/hostagent/guest.h"
#include "limactl-c/hostagent/loop.h"
#include "limactl-c/hostagent/troubles.h"
#include "limactl-c/plan/plan.h"

struct sshfs;

/* What it works with; all is borrowed. changed is called, from the loop, when sshfs_settled() may have become true. */
struct sshfs_world {
	struct loop *loop;
	struct guest *guest;
	struct conns *conns;
	struct spawner *spawner;
	struct troubles *troubles;
	const struct plan *plan;
	void (*changed)(void *ctx);
	void *ctx;
};

struct sshfs *sshfs_new(const struct sshfs_world *w);
void sshfs_free(struct sshfs *s); /* NULL is allowed; the servers end with their streams */

void sshfs_up(struct sshfs *s, bool resumed); /* the guest agent answers */
void sshfs_provisioned(struct sshfs *s);      /* the guest's scripts have run */
int sshfs_message(struct sshfs *s, const uint8_t *body, size_t len); /* AP_MSG_MOUNTED; -1: malformed */
void sshfs_close(struct sshfs *s);            /* the machine is about to end: nothing is mounted any more */

bool sshfs_settled(const struct sshfs *s); /* each is mounted, or cannot be */
void sshfs_waiting(const struct sshfs *s, struct jx *list); /* adds a sentence for each that is not */

#endif
