/* udp.h - a UDP socket of the host whose clients reach a UDP server of the guest, each by a stream of its own.
 *
 * A client is known by its address, so an answer goes to who asked, from the address it asked. A flow that is quiet
 * for UDP_IDLE_MS ends; when there are too many, the one that was quiet for longest makes room. What finds no room on
 * the way is dropped, as datagrams may be: nothing waits without bound, and no client holds up another.
 */
#ifndef LIMA_HOSTAGENT_UDP_H
#define LIMA_HOSTAGENT_UDP_H

#include "lib/agentproto.h"
#include "lib/err.h"
#include "limactl-c/hostagent/guest.h"
#include "limactl-c/hostagent/loop.h"
#include "limactl-c/hostagent/tally.h"

enum { UDP_IDLE_MS = 90000 };

struct udp; /* all of one host agent */
struct udp_port;

struct udp *udp_new(struct loop *l, struct guest *g);
void udp_free(struct udp *u); /* NULL is allowed; every port was closed */

/* Port host of this host to what guest names; t counts. e->errnum says why there is none. */
struct udp_port *udp_listen(struct udp *u, struct tally *t, const struct ap_port *host, const struct ap_open *guest,
			    struct err *e);
void udp_retarget(struct udp_port *p, const struct ap_open *guest); /* the flows there are end */
void udp_close(struct udp_port *p); /* NULL is allowed; with its flows */

#endif
