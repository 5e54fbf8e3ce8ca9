/* carrier.h - the byte stream under the channel: a virtio-serial port, or a unix socket in tests.
 *
 * "virtio:NAME" is the port of that name. It is opened once and kept. Hosts come and go at its other end, and the
 * port tells so late and not always (a quick change shows nothing, an old one shows after the next host's first
 * bytes), so the channel does not go by it: every host says hello first, and that is how it learns of it. "unix:PATH"
 * connects to a listening socket; its end ends the loop. "listen:FD[,MEMORY]" takes one connection at a time from an inherited
 * listening socket and outlives each, as a port does: so the fake driver's machine is adopted like a real one. MEMORY is a
 * descriptor that stands in for the memory which a machine's agent shares with its host (shared.h).
 */
#ifndef LIMA_GUESTAGENT_CARRIER_H
#define LIMA_GUESTAGENT_CARRIER_H

#include <stdbool.h>

#include "guestagent/accept.h"
#include "guestagent/loop.h"
#include "lib/err.h"
#include "lib/mux.h"

struct ga_carrier {
	struct ga_watch watch;
	struct ga_accept listener; /* "listen:": watched while nobody is connected */
	int listen_fd;            /* -1 for the other kinds */
	struct ga_loop *loop;
	struct mux *mux;
	bool port;     /* virtio-serial: outlives its peer, and we are in a guest */
	size_t at, len; /* of what was read: the beginning of what has not come whole */
	bool writable; /* no write has found it full, or without a host, since the last edge */
	bool alone;    /* a port whose other end tells that there is no host; of others the channel knows */
	void (*alone_changed)(struct ga_carrier *c); /* set before ga_carrier_open(); may be NULL */
};

int ga_carrier_open(struct ga_carrier *c, struct ga_loop *loop, struct mux *mux, const char *spec, struct err *e);
void ga_carrier_flush(struct ga_carrier *c); /* writes what the channel wants to say, as far as it goes */
void ga_carrier_close(struct ga_carrier *c);

#endif
