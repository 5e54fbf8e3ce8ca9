/* relay.h - a stream of the channel connected to a TCP or unix socket of the guest.
 *
 * Both directions end on their own (half-close), either may hold the other side back, and a reset on one side is a
 * reset on the other.
 */
#ifndef LIMA_GUESTAGENT_RELAY_H
#define LIMA_GUESTAGENT_RELAY_H

#include "guestagent/session.h"
#include "lib/agentproto.h"

/* Takes stream m, or resets it (REFUSED when nobody listens there). */
void ga_relay_open(struct ga *ga, struct mux_stream *m, const struct ap_open *o);

/* Takes fd, a TCP connection made here, for stream m. */
void ga_relay_take(struct ga *ga, struct mux_stream *m, int fd);

/* Takes fd, a connection of the guest, and opens a stream to the host's socket index for it. */
void ga_relay_accept(struct ga *ga, int fd, uint16_t index);

#endif
