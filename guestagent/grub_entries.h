/* grub_entries.h - the files /boot/loader/entries/NAME.conf, one for each kernel, that GRUB of Fedora and other loaders read:
 * our words at the end of what they tell the kernel.
 */
#ifndef LIMA_GUESTAGENT_GRUB_ENTRIES_H
#define LIMA_GUESTAGENT_GRUB_ENTRIES_H

#include "guestagent/setup_util.h"

bool grub_entries_are(const struct setup *su);

/* on = false takes the words back, and does nothing more. A file that says it all is not touched. */
int grub_entries_put(const struct setup *su, bool on, struct err *e);

#endif
