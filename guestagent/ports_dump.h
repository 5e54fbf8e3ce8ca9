/* ports_dump.h - the listening TCP sockets and bound UDP sockets of this network namespace, by NETLINK_SOCK_DIAG. */
#ifndef LIMA_PORTS_DUMP_H
#define LIMA_PORTS_DUMP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/agentproto.h"
#include "lib/err.h"

enum { PORTS_KNOWN_MAX = 16384 };

struct port_set {
	struct ap_port *port; /* sorted, each once; owned */
	size_t count, cap;
};

/* A socket of a dump. */
struct port_sock {
	uint64_t cookie; /* the kernel's name for it, never used again */
	uint16_t port;
	uint8_t proto;
	bool told;       /* its port is in the set: it is not a connected UDP socket */
};

struct port_socks {
	struct port_sock *sock; /* owned */
	size_t count, cap;
};

int port_compare(const void *a, const void *b); /* for qsort and for merging two sets */
void port_set_free(struct port_set *s);
int port_set_add(struct port_set *s, const struct ap_port *p); /* at its end; -1: out of memory. A full set takes no more */
void port_set_sort(struct port_set *s); /* as it is to be: sorted, each once */
void port_socks_free(struct port_socks *socks);

/* fd: a socket from port_dump_open(). Replaces what s and socks hold. More than PORTS_KNOWN_MAX of each are cut. */
int port_dump_open(struct err *e);
int port_dump(int fd, struct port_set *s, struct port_socks *socks, struct err *e);

#endif
