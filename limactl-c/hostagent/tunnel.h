/* tunnel.h - ports of this host whose clients speak SOCKS with the guest: their connections leave from there. */
#ifndef LIMA_HOSTAGENT_TUNNEL_H
#define LIMA_HOSTAGENT_TUNNEL_H

#include <stdint.h>

#include "lib/err.h"
#include "limactl-c/hostagent/conn.h"
#include "limactl-c/hostagent/loop.h"

enum { TUNNELS_MAX = 16 };

struct tunnels;

struct tunnels *tunnels_new(struct loop *l, struct conns *cs);
void tunnels_free(struct tunnels *t); /* NULL is allowed */

/* The port of 127.0.0.1 there is one on from now on: that port; with 0 the first one there is, else one the system chooses.
 * -1 with *e. */
int tunnel_open(struct tunnels *t, uint16_t port, struct err *e);

#endif
