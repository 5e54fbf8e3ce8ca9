/* wake_mounts.h - the shared folders of the settings that are mounted, for wake.c. */
#ifndef LIMA_GUESTAGENT_WAKE_MOUNTS_H
#define LIMA_GUESTAGENT_WAKE_MOUNTS_H

#include "guestagent/wake.h"

/* Gives w each that can be written to, once it is mounted; in guests with an init of their own that may be after we have
 * come. Those that are not there after a minute are left out, which is said. Sleeps meanwhile, until the peer of fd is gone. */
void wake_mounts(struct wake *w, const struct settings *s, int fd);

#endif
