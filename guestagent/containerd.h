/* containerd.h - the template's containerd in a guest without a seed volume.
 *
 * The archive it comes from is a read-only disk, found by its serial number (setting containerd.disk); what installs it is
 * <run>/containerd.sh, the script that guests with a seed run at their boot.
 */
#ifndef LIMA_GUESTAGENT_CONTAINERD_H
#define LIMA_GUESTAGENT_CONTAINERD_H

#include "lib/settings.h"

/* Installs and starts it, when it is asked for. What fails is said by the script, in <run>/containerd.error too. */
void containerd_install(const char *run_dir, const struct settings *s);

#endif
