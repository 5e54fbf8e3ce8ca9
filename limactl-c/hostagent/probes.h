/* probes.h - the template's readiness probes: each a script run in the guest until it succeeds or its time is over. */
#ifndef LIMA_HOSTAGENT_PROBES_H
#define LIMA_HOSTAGENT_PROBES_H

#include <stdbool.h>

#include "limactl-c/base/jsonx.h"
#include "limactl-c/hostagent/guest.h"
#include "limactl-c/hostagent/loop.h"
#include "limactl-c/plan/plan.h"

struct probes;

/* over is called, from the loop, when the last of them has succeeded or failed. */
struct probes *probes_new(struct loop *l, struct guest *g, const struct plan *plan, void (*over)(void *ctx), void *ctx);
void probes_free(struct probes *p); /* NULL is allowed */

void probes_start(struct probes *p); /* once the guest is provisioned; nothing when they run already */
void probes_stop(struct probes *p);  /* ends what runs; probes_start() begins afresh */
bool probes_over(const struct probes *p);

void probes_waiting(const struct probes *p, struct jx *list); /* adds the names of those that have not ended */
void probes_errors(const struct probes *p, struct jx *list);  /* adds a sentence for each that failed, with its hint */

#endif
