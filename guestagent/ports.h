/* ports.h - which TCP and UDP ports listen in the agent's own network namespace, and when that changed.
 *
 * The kernel tells that something changed (ports_events.h); a NETLINK_SOCK_DIAG dump tells what is true
 * (ports_dump.h). Where the kernel's events are not to be had the caller scans on a timer. UDP sockets of clients
 * are left out (ports.c). Ports that only a packet filter rule publishes are in (nat.h).
 */
#ifndef LIMA_PORTS_H
#define LIMA_PORTS_H

#include <stdbool.h>

#include "lib/agentproto.h"
#include "lib/err.h"

struct ports;

/* Never fails for want of events, only of memory or netlink; e->msg then says why there are none. */
struct ports *ports_new(struct err *e);
void ports_free(struct ports *p);

int ports_fd(const struct ports *p); /* readable when a change was noticed; -1 without events */
/* Milliseconds after which the caller scans, 0 = now, -1 = not before the next event. To be asked when ports_fd() is
 * readable and after each scan: what was noticed may come to nothing by itself, or not be visible yet. */
int ports_interval(struct ports *p);
const char *ports_kind(const struct ports *p); /* "ebpf" or "poll" */

/* Whether something was noticed that no scan has shown: a look at the event ring's head in memory and, where
 * nftables is there, at its socket. */
bool ports_pending(const struct ports *p);

/* Drains the ring, dumps if there is a reason to, and compares with what was last told. Fills *out with up to AP_PORTS_MAX changes
 * (out->snapshot as ports_forget() asked) and returns how many are left for the next call (0 = done); -1 on error. */
int ports_scan(struct ports *p, struct ap_ports *out, struct err *e);

/* Where a connection to that port goes when no socket has it and only a packet filter rule publishes it (nat.h): *to, which
 * is not changed otherwise. */
bool ports_by_rule(const struct ports *p, uint8_t proto, uint16_t port, struct ap_port *to);

void ports_forget(struct ports *p); /* the next scan is a snapshot */

#endif
