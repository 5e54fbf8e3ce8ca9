/* events.h - what happens to the instance, one line of JSON each, as Lima writes them.
 *
 * A line goes to standard output (ha.stdout.log), to the descriptor of the waiting `start` until running or the end,
 * and to whoever reads GET /v1/events. Readers that do not keep up are let go.
 */
#ifndef LIMA_HOSTAGENT_EVENTS_H
#define LIMA_HOSTAGENT_EVENTS_H

#include <stdbool.h>
#include <stdint.h>

#include "limactl-c/base/jsonx.h"
#include "limactl-c/hostagent/loop.h"

struct events;

/* ready_fd is taken; -1 = nobody waits. ssh_port 0 is left out of the lines. */
struct events *events_new(struct loop *l, int ready_fd, uint16_t ssh_port);
void events_free(struct events *ev);

void events_started(struct events *ev); /* the first line */
/* errors: array of strings or NULL, borrowed; not empty means degraded. */
void events_running(struct events *ev, const struct jx *errors);
void events_exiting(struct events *ev, const struct jx *errors);
/* type: forwarding, not-forwarding, stopping, failed; host and error may be NULL. */
void events_port(struct events *ev, const char *type, const char *guest, const char *host, const char *error);

/* fd, which is taken, gets the newest line about the state and every line from now on. */
void events_subscribe(struct events *ev, int fd);

#endif
