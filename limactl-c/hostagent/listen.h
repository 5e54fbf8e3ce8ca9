/* listen.h - a listening socket of the host; each connection it accepts is relayed to one place in the guest. */
#ifndef LIMA_HOSTAGENT_LISTEN_H
#define LIMA_HOSTAGENT_LISTEN_H

#include <stdbool.h>

#include "lib/agentproto.h"
#include "lib/err.h"
#include "limactl-c/hostagent/conn.h"
#include "limactl-c/hostagent/loop.h"

struct listener;

/* Port host of this host to an address of the guest. */
struct listener *listen_tcp(struct loop *l, struct conns *cs, const struct ap_port *host, const struct ap_port *guest,
			    struct err *e);
/* A unix socket, mode 0600 in a folder that is made with 0700; connections stay in the kernel's queue until
 * listen_accept(). The socket's file is removed at the end. */
struct listener *listen_unix(struct loop *l, struct conns *cs, const char *host_path, const char *guest_path,
			     struct err *e);
void listen_accept(struct listener *ln);
void listen_retarget(struct listener *ln, const struct ap_port *guest); /* connections from now on */
void listen_free(struct listener *ln); /* NULL is allowed; connections go on */

/* Accepts one connection: non-blocking, close-on-exec, without Nagle's delay; -1 when there is none.
 * When descriptors have run out, one connection is dropped, so that the queue does not keep the loop busy. */
int listen_next(int fd);

#endif
