/* settle.h - the part of a cloud guest's tuning that takes time (GRUB's program runs for seconds under emulation) or asks
 * systemd: done by a child of the daemon once all is provisioned, at the lowest priority, so that nobody waits for it.
 *
 * While it runs the child holds /run/lima/settle.lock; who has to know what it leaves behind waits for that (the host, before
 * it looks at /boot). The first new warning of setup is told to the host.
 */
#ifndef LIMA_GUESTAGENT_SETTLE_H
#define LIMA_GUESTAGENT_SETTLE_H

#include <sys/types.h>

#include "guestagent/session.h"
#include "guestagent/setup_util.h"

struct settle {
	struct ga *ga;
	struct setup su;
	struct ga_child child;
	off_t warned; /* bytes of warnings before it */
};

/* The child holds the lock when it returns. Does nothing in a guest that is not a cloud guest. root: as in struct setup. s
 * stays until settle_stop(). */
void settle_start(struct settle *s, struct ga *ga, const char *root);
void settle_stop(struct settle *s); /* the child goes on */

#endif
