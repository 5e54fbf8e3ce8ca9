/* guest_clock.h - the guest's clock, kept at the host's time (clock_sync.h): messages, the kernel's word that somebody has
 * set it, and setting it. Nothing ticks. Outside a guest the clock is not ours and nothing is done.
 */
#ifndef LIMA_GUESTAGENT_GUEST_CLOCK_H
#define LIMA_GUESTAGENT_GUEST_CLOCK_H

#include <stddef.h>

#include "guestagent/clock_sync.h"
#include "guestagent/loop.h"

struct ga;

struct ga_clock {
	struct clock_sync sync;
	struct ga_watch changed; /* a timer that never comes, but is cancelled when the clock is set */
	int changed_fd;          /* -1: none; watched but while a question waits for its time */
	struct ga_timer timer;   /* when to ask */
	bool ours;               /* to be set: we are in a guest */
};

void ga_clock_start(struct ga *ga); /* the carrier is there */
void ga_clock_stop(struct ga *ga);
int ga_clock_told(struct ga *ga, const uint8_t *body, size_t len);     /* AP_MSG_TIME; -1: malformed */
int ga_clock_answered(struct ga *ga, const uint8_t *body, size_t len); /* AP_MSG_CLOCK; -1: malformed */

#endif
