/* resolve.h - the guest's questions of names, answered by a program of its own (libexec/limactl-c/resolver).
 *
 * One stream to the guest. The resolver is started at the first question and ended after a minute without any. What it
 * does not answer, since it died or hangs, is answered for it: that there is no answer now.
 */
#ifndef LIMA_HOSTAGENT_RESOLVE_H
#define LIMA_HOSTAGENT_RESOLVE_H

#include "limactl-c/base/jsonx.h"
#include "limactl-c/base/spawn.h"
#include "limactl-c/hostagent/guest.h"
#include "limactl-c/hostagent/loop.h"
#include "limactl-c/plan/plan.h"

struct resolve;

/* All are borrowed. Without plan->dns_address nothing is ever opened. */
struct resolve *resolve_new(struct loop *l, struct guest *g, struct spawner *spawner, const struct plan *plan);
void resolve_free(struct resolve *r); /* NULL is allowed; before guest_free() */
void resolve_agent(struct resolve *r); /* a guest agent that is new to us answers */
struct jx *resolve_json(const struct resolve *r); /* {"questions":3,"answers":2,"failed":1}: ever; the rest is under way */

#endif
