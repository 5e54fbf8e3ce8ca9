/* publish.h - the guest's listening ports on this host: what should listen, what does, and why something does not.
 *
 * publish_message() opens and closes listeners before it returns. That is the host's half of the ordering promise:
 * bytes that the guest sent after the message are handled after it.
 */
#ifndef LIMA_HOSTAGENT_PUBLISH_H
#define LIMA_HOSTAGENT_PUBLISH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/err.h"
#include "limactl-c/base/jsonx.h"
#include "limactl-c/hostagent/conn.h"
#include "limactl-c/hostagent/events.h"
#include "limactl-c/hostagent/loop.h"
#include "limactl-c/plan/plan.h"

enum { PUBLISH_PORTS_MAX = 8192 }; /* listening ports of the guest; more are left out */

struct publish;

struct publish *publish_new(struct loop *l, struct guest *g, struct conns *cs, struct events *ev, const struct plan *plan,
			    struct err *e);
void publish_free(struct publish *p); /* closes all listeners; before guest_free() */

/* Listeners of static rules open now. May be called again. */
void publish_start(struct publish *p);
int publish_message(struct publish *p, const uint8_t *body, size_t len); /* AP_MSG_PORTS; -1: malformed */
void publish_close(struct publish *p); /* stopping: every listener goes, each with its event */

/* Calls fn for each address of this host at which a port of the guest is published now. */
void publish_hosts(const struct publish *p, uint16_t guest_port, void (*fn)(void *ctx, const struct ap_port *host), void *ctx);

/* An array of {protocol, guestAddr, hostAddr, state, error}; counted: with what went through each. */
struct jx *publish_json(const struct publish *p, bool counted);

#endif
