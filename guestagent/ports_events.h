/* ports_events.h - the kernel's word that a listening port may have come or gone, without polling.
 *
 * Small BPF programs, given as instructions, write records into one BPF ring buffer:
 *   UDP  cgroup hooks inet4/inet6 post-bind and socket release on the root cgroup, own network namespace by its cookie;
 *        and inet4/inet6 bind, where the port that the program asked for can be seen
 *   TCP  tracepoint sock:inet_sock_set_state, only entering LISTEN or leaving it for CLOSE, own network namespace
 *        wherever the kernel's layout of a socket is the one we know, which is found out at the start
 * cgroup2 and tracefs are opened as detached mounts, so neither has to be mounted anywhere.
 */
#ifndef LIMA_PORTS_EVENTS_H
#define LIMA_PORTS_EVENTS_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/err.h"

/* RULES: packet filter rules changed; it comes from elsewhere (nat.h). */
enum port_event_kind { PORT_EVENT_BIND = 1, PORT_EVENT_RELEASE, PORT_EVENT_LISTEN, PORT_EVENT_CLOSE, PORT_EVENT_RULES };

struct port_event {
	uint8_t kind;
	uint8_t reserved;
	uint16_t port; /* host order; 0 for RELEASE */
	uint32_t unused;
	uint64_t id; /* BIND, RELEASE: the socket's cookie; LISTEN, CLOSE: the kernel's name of the network namespace */
};

struct port_events;

struct port_events *port_events_open(struct err *e); /* NULL where the kernel or our rights do not allow it */
void port_events_close(struct port_events *p);
int port_events_fd(const struct port_events *p);      /* readable when a record came */
bool port_events_pending(const struct port_events *p); /* no system call */
bool port_events_next(struct port_events *p, struct port_event *ev); /* false: none left */

/* Whether a program asked for this UDP port by its number, in a bind() since port_events_open(): true from before the
 * BIND that bind() causes. It is never taken back: that a socket is gone cannot be told from one that is just coming. */
bool port_events_asked(const struct port_events *p, uint16_t port);
void port_events_ask(struct port_events *p, uint16_t port); /* as if a program had */

#endif
