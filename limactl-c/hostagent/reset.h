/* reset.h - a guest that has reset its machine: its user's wish, or a kernel that panicked (docs/lifecycle.md). */
#ifndef LIMA_HOSTAGENT_RESET_H
#define LIMA_HOSTAGENT_RESET_H

#include "limactl-c/hostagent/life.h"

/* panic: ERR_NONE, or what its kernel said. */
void reset_happened(struct ha *ha, const struct err *panic);

#endif
