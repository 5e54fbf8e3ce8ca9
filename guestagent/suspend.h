/* suspend.h - what the guest does before it is saved and when it goes on.
 *
 * Before: what is not on its disk yet is written, folders of the host that nobody uses are unmounted (a machine with such a
 * mount cannot be saved), what can be read again is dropped from memory, the disk is told what is free. Afterwards: random
 * numbers are seeded anew, the folders are mounted again. A child process does what takes time.
 */
#ifndef LIMA_GUESTAGENT_SUSPEND_H
#define LIMA_GUESTAGENT_SUSPEND_H

#include "guestagent/session.h"

int ga_suspend_asked(struct ga *ga, const uint8_t *body, size_t len); /* AP_MSG_SUSPEND; answered when it is done */
int ga_suspend_over(struct ga *ga, const uint8_t *body, size_t len);  /* AP_MSG_WOKEN */
void ga_suspend_stop(struct ga *ga);

#endif
