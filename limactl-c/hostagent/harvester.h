/* harvester.h - takes the kernel and initramfs of a guest that its own loader started out of it, in the background, once the
 * instance runs; and sees when the guest has others (store/harvest.h).
 */
#ifndef LIMA_HOSTAGENT_HARVESTER_H
#define LIMA_HOSTAGENT_HARVESTER_H

#include <stdbool.h>

#include "limactl-c/hostagent/guest.h"
#include "limactl-c/plan/plan.h"

struct harvester;

/* Does nothing when the plan wants no harvest. */
struct harvester *harvester_new(struct guest *g, const struct plan *plan);
void harvester_free(struct harvester *h); /* before guest_free(); NULL is allowed */

/* The guest boots; its agent has answered, or somebody wanted its end before: no fault of its kernel's. */
void harvester_boots(struct harvester *h);
void harvester_answered(struct harvester *h);

void harvester_start(struct harvester *h); /* the instance runs; at any time again */
void harvester_stop(struct harvester *h);
bool harvester_is_busy(const struct harvester *h);

#endif
