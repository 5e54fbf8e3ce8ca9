/* retry.h - when ports of this host that could not be listened on are tried again.
 *
 * One that somebody else has: every second. One we have no right to, of which nothing tells when we get it: after 1, 2, 4 … 60 s.
 * Nothing is timed while there are none.
 */
#ifndef LIMA_HOSTAGENT_RETRY_H
#define LIMA_HOSTAGENT_RETRY_H

#include <stdbool.h>

#include "limactl-c/hostagent/loop.h"

struct retry;

struct retry *retry_new(struct loop *l, void (*fn)(void *ctx), void *ctx); /* fn tries all, then calls retry_arm() */
void retry_free(struct retry *r); /* NULL is allowed */

void retry_restart(struct retry *r); /* something changed: the next pause is the shortest */
/* There are ports that somebody else has (busy), or that we have no right to (denied); neither: no more tries. */
void retry_arm(struct retry *r, bool busy, bool denied);

#endif
