/* ports.h - which TCP and UDP ports listen in the agent's own network namespace, and when that changed.
 *
 * The kernel tells that something changed (cgroup BPF post-bind and release hooks, the inet_sock_set_state
 * tracepoint, all into one BPF ring buffer); a NETLINK_SOCK_DIAG dump tells what is true. Where BPF is not to be
 * had the caller scans every ports_interval() milliseconds. Sockets of the agent itself are left out by the
 * caller marking nothing: the agent listens on no port.
 */
#ifndef LIMA_PORTS_H
#define LIMA_PORTS_H

#include <stdbool.h>

#include "lib/agentproto.h"
#include "lib/err.h"

struct ports;

struct ports *ports_new(struct err *e); /* never fails for want of BPF, only of memory or netlink */
void ports_free(struct ports *p);

int ports_fd(const struct ports *p);       /* readable when a change was noticed; -1 without BPF */
int ports_interval(const struct ports *p); /* ms between scans without BPF, -1 with it */
const char *ports_kind(const struct ports *p); /* "ebpf" or "poll" */

/* Whether a change was noticed since the last scan: a look at the event ring's head, no system call. */
bool ports_pending(const struct ports *p);

/* Drains the ring, dumps, and compares with what was last told. Fills *out with up to AP_PORTS_MAX changes
 * (out->snapshot as ports_forget() asked) and returns how many are left for the next call (0 = done); -1 on error.
 * A dump is repeated while events arrive during it, at most a few times. */
int ports_scan(struct ports *p, struct ap_ports *out, struct err *e);

void ports_forget(struct ports *p); /* the next scan is a snapshot */

#endif
