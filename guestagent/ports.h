/* ports.h - which TCP and UDP ports listen in the agent's own network namespace, and when that changed.
 *
 * The kernel tells that something changed (ports_events.h); a NETLINK_SOCK_DIAG dump tells what is true
 * (ports_dump.h). Where the kernel's events are not to be had the caller scans on a timer. The agent itself
 * listens on no port, so nothing has to be left out.
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
/* Milliseconds after which the caller scans though nothing was noticed, -1 = never. To be asked after each scan:
 * with events it is a few milliseconds just after an event whose effect was not visible yet, else -1. */
int ports_interval(const struct ports *p);
const char *ports_kind(const struct ports *p); /* "ebpf" or "poll" */

/* Whether a change was noticed since the last scan: a look at the event ring's head, no system call. */
bool ports_pending(const struct ports *p);

/* Drains the ring, dumps, and compares with what was last told. Fills *out with up to AP_PORTS_MAX changes
 * (out->snapshot as ports_forget() asked) and returns how many are left for the next call (0 = done); -1 on error. */
int ports_scan(struct ports *p, struct ap_ports *out, struct err *e);

void ports_forget(struct ports *p); /* the next scan is a snapshot */

#endif
