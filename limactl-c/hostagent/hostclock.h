/* hostclock.h - the system's word that the host's clock was set. Where the system has none, the guest is told the time all
 * the same after a quiet minute (guest.h). */
#ifndef LIMA_HOSTAGENT_HOSTCLOCK_H
#define LIMA_HOSTAGENT_HOSTCLOCK_H

#include "limactl-c/hostagent/loop.h"

struct hostclock;

/* fn is called when the clock was set, once a second at most. NULL: the system cannot tell. */
struct hostclock *hostclock_new(struct loop *l, void (*fn)(void *ctx), void *ctx);
void hostclock_free(struct hostclock *h); /* NULL is allowed */

#endif
