/* sockets.h - forwards with a unix socket at one end or both (plan_socket): there from the start, whoever listens in the
 * guest.
 *
 * Of reverse ones the guest listens; it names them by their place in the plan and nothing else, and a socket of the host
 * is only connected to, never made or removed.
 */
#ifndef LIMA_HOSTAGENT_SOCKETS_H
#define LIMA_HOSTAGENT_SOCKETS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/err.h"
#include "lib/mux.h"
#include "limactl-c/base/jsonx.h"
#include "limactl-c/hostagent/conn.h"
#include "limactl-c/hostagent/events.h"
#include "limactl-c/hostagent/guest.h"
#include "limactl-c/hostagent/loop.h"
#include "limactl-c/plan/plan.h"

enum { SOCKETS_REVERSE_CONNS = 1024 }; /* at once, through one reverse socket: each costs the host a descriptor */

struct sockets;

/* Listens on the host's paths; NULL with *e when one cannot be: a file is in the way, somebody else listens there. */
struct sockets *sockets_new(struct loop *l, struct conns *cs, struct events *ev, const struct plan *plan, struct err *e);
void sockets_free(struct sockets *s); /* NULL is allowed */

void sockets_start(struct sockets *s);  /* ports open, or are tried again while somebody else has them */
void sockets_retry(struct sockets *s);  /* the guest's ports changed: those not open are tried now */
void sockets_accept(struct sockets *s); /* from now on connections of paths are taken */
void sockets_close(struct sockets *s);  /* everything goes, with an event each */

void sockets_tell(struct sockets *s, struct guest *g); /* a new guest agent: where it is to listen */
/* The guest asks for a connection: made, or m is reset. */
void sockets_open(struct sockets *s, struct mux_stream *m, const uint8_t *request, size_t len);

/* Adds what publish_json() has of each; not counted: of those only that are ports of this host. */
void sockets_json(const struct sockets *s, struct jx *list, bool counted);

#endif
