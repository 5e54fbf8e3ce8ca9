/* socks.h - a SOCKS5 client of the host on a stream: its connections leave from here, names are looked up here. */
#ifndef LIMA_GUESTAGENT_SOCKS_H
#define LIMA_GUESTAGENT_SOCKS_H

#include "guestagent/session.h"
#include "lib/agentproto.h"

/* Takes stream m, or resets it (LIMIT). */
void ga_socks_open(struct ga *ga, struct mux_stream *m, const struct ap_open *o);

#endif
