/* snapshots.h - snapshots of the machine while it runs (plan/snapshot.h).
 *
 * The carrier is closed before one is made and before the machine goes back to one, and made again after: so each is older than
 * the link that follows, which is how host and guest notice that the guest was set back (docs/protocol.md).
 */
#ifndef LIMA_HOSTAGENT_SNAPSHOTS_H
#define LIMA_HOSTAGENT_SNAPSHOTS_H

#include "limactl-c/hostagent/life.h"

/* op: one of VMCTL_SNAPSHOT_*. Begins it as life_operation() does, if there is, or is not, such a snapshot and its memory fits. */
int snapshots_begin(struct ha *ha, enum vmctl_op op, const char *tag, struct err *e);

/* It is over, well or not: the guest is spoken to again. */
void snapshots_over(struct ha *ha, bool done);

#endif
