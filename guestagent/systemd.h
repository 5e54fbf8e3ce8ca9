/* systemd.h - what rows of the tuning table want of a guest with systemd, once it runs.
 *
 * A unit is switched off by a file of ours beside it, with a condition that never holds: whether it is enabled stays as
 * the guest has it, and without our file it is as it was.
 */
#ifndef LIMA_GUESTAGENT_SYSTEMD_H
#define LIMA_GUESTAGENT_SYSTEMD_H

#include "guestagent/setup_util.h"

bool systemd_is(const struct setup *su);

/* Rows; on = false takes it back. They do nothing without systemd. */
int systemd_no_hotplug(const struct setup *su, bool on, struct err *e); /* cloud-init's hotplug service */
int systemd_gettys(const struct setup *su, bool on, struct err *e);     /* none on a missing console */

int systemd_check_no_hotplug(const struct setup *su, struct err *e);
bool systemd_has_stray_getty(const struct setup *su);

#endif
