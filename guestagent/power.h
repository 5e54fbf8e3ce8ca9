/* power.h - the power button, read by the daemon's loop: no process of its own, silent while nobody presses it.
 *
 * Wire it so: fd = power_open(); watch fd for POLLIN; when readable, if (power_ready(fd)) power_off();
 */
#ifndef LIMA_GUESTAGENT_POWER_H
#define LIMA_GUESTAGENT_POWER_H

#include <stdbool.h>

#include "lib/err.h"

/* Non-blocking, close-on-exec descriptor; -1 when the machine has no button (e says why; not fatal). */
int power_open(struct err *e);

/* Drains fd; true when the button was pressed. */
bool power_ready(int fd);

/* Asks init to stop the machine in order (its shutdown actions run); returns at once. */
int power_off(struct err *e);

#endif
