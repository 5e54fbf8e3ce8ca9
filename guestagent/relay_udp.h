/* relay_udp.h - a stream of the channel as one client of a UDP server of the guest.
 *
 * Each has a connected socket of its own, so an answer finds its stream by the port it is sent to, and one that comes from
 * another address than the server's is not taken. Datagrams that find no room are left to the kernel, which drops them.
 */
#ifndef LIMA_GUESTAGENT_RELAY_UDP_H
#define LIMA_GUESTAGENT_RELAY_UDP_H

#include "guestagent/session.h"
#include "lib/agentproto.h"

/* Takes stream m, or resets it. Nobody listening there is no reason to: somebody may, later. */
void ga_relay_udp_open(struct ga *ga, struct mux_stream *m, const struct ap_open *o);

#endif
