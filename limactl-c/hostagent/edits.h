/* edits.h - provision[] mode yq: the guest offers a file, a helper process of ours changes it (the host agent itself
 * parses nothing that comes from the guest), the guest puts the result in place (guestagent/provision.h). */
#ifndef LIMA_HOSTAGENT_EDITS_H
#define LIMA_HOSTAGENT_EDITS_H

#include <stddef.h>
#include <stdint.h>

#include "limactl-c/hostagent/guest.h"
#include "limactl-c/hostagent/loop.h"
#include "limactl-c/plan/plan.h"

struct edits;

struct edits *edits_new(struct loop *l, struct guest *g, const struct plan *plan);
void edits_free(struct edits *e); /* before guest_free(); NULL is allowed */

/* AP_MSG_PROVISION; what does not ask for an edit is somebody else's. */
void edits_message(struct edits *e, const uint8_t *body, size_t len);

#endif
