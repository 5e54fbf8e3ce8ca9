/* ready.h - what must be true before an instance counts as running, as a list with names people understand. */
#ifndef LIMA_HOSTAGENT_READY_H
#define LIMA_HOSTAGENT_READY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "limactl-c/base/jsonx.h"
#include "limactl-c/hostagent/guest.h"
#include "limactl-c/hostagent/loop.h"
#include "limactl-c/hostagent/sshfs.h"
#include "limactl-c/plan/plan.h"

struct ready;

/* changed is called, from the loop, when a requirement was met. */
struct ready *ready_new(struct loop *l, struct guest *g, const struct plan *plan, void (*changed)(void *ctx), void *ctx);
void ready_free(struct ready *r); /* before guest_free(); NULL is allowed */

void ready_mounts(struct ready *r, const struct sshfs *s); /* s is borrowed, and said to have changed by who calls ready_all() */

void ready_machine(struct ready *r);             /* the machine runs */
void ready_agent(struct ready *r, bool resumed); /* the guest agent answers; a new one starts its part again */
/* AP_MSG_PROVISION, AP_MSG_BOOT; -1: malformed. */
int ready_provision(struct ready *r, const uint8_t *body, size_t len);
int ready_boot(struct ready *r, const uint8_t *body, size_t len);
void ready_trouble(struct ready *r, bool any); /* the guest is in trouble, or not any more */

bool ready_all(const struct ready *r);        /* everything is met, or the guest has told of a failure */
void ready_waiting(const struct ready *r, struct jx *list); /* adds the names of what is missing */
void ready_errors(const struct ready *r, struct jx *list);  /* adds a sentence for each failed script */
void ready_done(struct ready *r);             /* no more probes */

#endif
