/* dns_net.h - a place on the network with one address and two sockets on port 53.
 *
 * A network namespace of its own, joined to ours by a pair of virtual cards: nobody's port 53 is taken, no rule of a
 * packet filter is needed, programs and containers reach it like any other host, and it goes with the sockets' last
 * holder, whatever that dies of. Then the network's own name server has its address back.
 */
#ifndef LIMA_DNS_NET_H
#define LIMA_DNS_NET_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/err.h"

#define DNS_NET_CARD "lima-dns" /* our end */

/* addr: IPv4, network order. *udp is bound, *tcp listens; both are close-on-exec and non-blocking. */
int dns_net_open(const uint8_t addr[4], int *udp, int *tcp, struct err *e);
/* Whether what is for addr goes there, as it does at first, or to the network. */
int dns_net_route(const uint8_t addr[4], bool there, struct err *e);
void dns_net_close(void); /* takes our end away at once; the sockets are the caller's to close */

#endif
