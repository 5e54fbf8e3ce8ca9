/* grub.h - an existing guest's own GRUB: what it tells the kernel, and how long its menu waits.
 *
 * Settings, all of the plan:
 *   tuning.kernelArgs     "true": the two lists are in force
 *   loader.args           words for the kernel, each unless the guest's configuration says something of the kind itself
 *   loader.lastArgs       words behind all others: guest.kernelArgs
 *   tuning.skipBootMenu   "true": GRUB_TIMEOUT=0
 *
 * What we add is a file of ours in /etc/default/grub.d where GRUB reads that folder, else a block of lines in
 * /etc/default/grub; where each kernel has a file with its arguments (Fedora), these stand there. On the kernel's command
 * line our words stand between two marks (lib/cmdline.h). grub.cfg is made anew by GRUB's own program only when ours has
 * changed since that last succeeded, of which /var/lib/lima-guestagent/grub keeps record, and takes the old one's place by
 * a rename. Nothing of it is done in a guest without GRUB.
 */
#ifndef LIMA_GUESTAGENT_GRUB_H
#define LIMA_GUESTAGENT_GRUB_H

#include "guestagent/setup_util.h"

bool grub_is(const struct setup *su);

/* A row of the tuning table: makes GRUB say what the settings say, or what it said before us. Takes seconds under emulation
 * when something has changed. */
int grub_configure(const struct setup *su, bool on, struct err *e);

/* Whether a word means the same to the kernel, to GRUB's own language and to sh. */
bool grub_is_plain(const char *word, size_t n);
size_t grub_word(const char **at); /* cmdline_word() over the plain ones */

int grub_check_menu(const struct setup *su, struct err *e); /* its menu does not wait */

#endif
