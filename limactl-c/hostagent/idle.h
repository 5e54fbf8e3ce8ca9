/* idle.h - lets the machine sleep while nobody uses it, and wakes it up for who comes: idle_ladder.h on the real instance.
 *
 * Looked at before each wait of the loop, so nothing has to tell it what happened; one deadline, and none while neither time
 * nor anything else can change anything.
 */
#ifndef LIMA_HOSTAGENT_IDLE_H
#define LIMA_HOSTAGENT_IDLE_H

#include <stdbool.h>

#include "limactl-c/base/jsonx.h"

struct ha;
struct idle;

struct idle *idle_new(struct ha *ha); /* when all that it looks at is there */
void idle_free(struct idle *d);       /* before guest_free(); NULL is allowed, as for the next */

void idle_look(struct idle *d);
/* Of a machine that is put to sleep by a command: it sleeps until it is told to wake up (on), or until it is used. */
void idle_hold(struct idle *d, bool on);
void idle_want(struct idle *d); /* it is to wake up again as soon as it sleeps */

/* For status: what keeps it awake or lets it sleep, as a word and as a sentence, and how much it has slept. */
struct jx *idle_json(const struct idle *d);

#endif
