/* file_events.h - changes in the host's folders, told the guest by a program of its own (libexec/limactl-c/watcher).
 *
 * One stream to the guest. The program runs while the stream is there; its records are passed on unread. Nothing of it is there
 * unless the plan wants it.
 */
#ifndef LIMA_HOSTAGENT_FILE_EVENTS_H
#define LIMA_HOSTAGENT_FILE_EVENTS_H

#include "limactl-c/base/spawn.h"
#include "limactl-c/hostagent/guest.h"
#include "limactl-c/hostagent/loop.h"
#include "limactl-c/hostagent/troubles.h"
#include "limactl-c/plan/plan.h"

struct file_events;

/* All are borrowed. That they are not told is a trouble of the instance. */
struct file_events *file_events_new(struct loop *l, struct guest *g, struct spawner *spawner, const struct plan *plan,
				    struct troubles *t);
void file_events_free(struct file_events *f); /* NULL is allowed; before guest_free() */
void file_events_stop(struct file_events *f); /* the guest's end holds its folders no more; file_events_agent() begins again */
void file_events_agent(struct file_events *f); /* a guest agent that is new to us answers */

#endif
