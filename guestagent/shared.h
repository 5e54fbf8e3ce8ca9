/* shared.h - memory that the host agent sees too: beside a port it is the device ivshmem, whose name says nothing. Where it is
 * not there, or cannot be mapped (a kernel locked down), the channel does without. */
#ifndef LIMA_GUESTAGENT_SHARED_H
#define LIMA_GUESTAGENT_SHARED_H

#include "lib/mux.h"

void ga_share_device(struct mux *m, const char *name);    /* of PCI; the name is not used */
void ga_share_inherited(struct mux *m, const char *name); /* behind a comma in it: a descriptor */

#endif
