/* ports_dump.h - the listening TCP sockets and unconnected UDP sockets of this network namespace, by NETLINK_SOCK_DIAG. */
#ifndef LIMA_PORTS_DUMP_H
#define LIMA_PORTS_DUMP_H

#include <stddef.h>

#include "lib/agentproto.h"
#include "lib/err.h"

enum { PORTS_KNOWN_MAX = 16384 };

struct port_set {
	struct ap_port *port; /* sorted, each once; owned */
	size_t count, cap;
};

int port_compare(const void *a, const void *b); /* for qsort and for merging two sets */
void port_set_free(struct port_set *s);

/* fd: a socket from port_dump_open(). Replaces what s holds. More than PORTS_KNOWN_MAX sockets are cut. */
int port_dump_open(struct err *e);
int port_dump(int fd, struct port_set *s, struct err *e);

#endif
