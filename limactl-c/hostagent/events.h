/* events.h - what happens to the instance, one line of JSON each, as Lima writes them.
 *
 * A line goes to standard output (ha.stdout.log), to the descriptor of the waiting `start` until running or the end,
 * and to whoever reads GET /v1/events. A reader that does not keep up is told how many lines it has missed, and the newest one
 * about the state, when it reads again.
 */
#ifndef LIMA_HOSTAGENT_EVENTS_H
#define LIMA_HOSTAGENT_EVENTS_H

#include <stdbool.h>
#include <stdint.h>

#include "limactl-c/base/jsonx.h"
#include "limactl-c/hostagent/loop.h"
#include "limactl-c/hostagent/tally.h"

struct events;

/* ready_fd is taken; -1 = nobody waits. ssh_port 0 is left out of the lines. */
struct events *events_new(struct loop *l, int ready_fd, uint16_t ssh_port);
void events_free(struct events *ev);

void events_started(struct events *ev); /* the first line */
/* errors: array of strings or NULL, borrowed; not empty means degraded. */
void events_running(struct events *ev, const struct jx *errors);
void events_exiting(struct events *ev, const struct jx *errors);

/* One forward: what became of it, or how it stands. What is NULL or false is left out. */
struct event_port {
	const char *type;     /* of an event: forwarding, not-forwarding, stopping, failed */
	const char *state;    /* in a list: forwarding, not-forwarding, failed */
	const char *protocol; /* tcp, udp, unix */
	const char *guest, *host, *error;
	bool reverse;
	const struct tally *tally; /* what went through it */
};
void events_port(struct events *ev, const struct event_port *what);
struct jx *event_port_json(const struct event_port *what);

/* fd, which is taken, gets the newest line about the state and every line from now on. */
void events_subscribe(struct events *ev, int fd);

#endif
