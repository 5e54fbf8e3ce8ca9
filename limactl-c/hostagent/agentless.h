/* agentless.h - the channel of a guest without our agent: its other end is a program of this host, libexec/limactl-c/ssh, which
 * stands in for the agent by way of the guest's SSH server. It ends with the carrier, and when that server is lost; the next
 * carrier is the next one's. */
#ifndef LIMA_HOSTAGENT_AGENTLESS_H
#define LIMA_HOSTAGENT_AGENTLESS_H

#include <stdint.h>

#include "lib/err.h"
#include "limactl-c/base/spawn.h"
#include "limactl-c/plan/plan.h"

struct agentless {
	int64_t started; /* clock_ms(), 0: none was yet */
};

/* The carrier's descriptor, the caller's. One that has just ended is not followed by another at once. */
int agentless_carrier(struct agentless *a, const struct plan *plan, struct spawner *spawner, struct err *e);

#endif
