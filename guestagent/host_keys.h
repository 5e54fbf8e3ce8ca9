/* host_keys.h - what the guest's SSH server is known by, told to the host: so that nobody else is taken for it there. */
#ifndef LIMA_GUESTAGENT_HOST_KEYS_H
#define LIMA_GUESTAGENT_HOST_KEYS_H

#include "guestagent/session.h"

enum { SSH_PORT = 22 };

/* Tells the public host keys that are there now, if they are others than those told last. To be called before somebody can
 * hear from the server, so that nobody sees it before its keys: when its port opens, and before a stream to it does. */
void ga_host_keys_tell(struct ga *ga);
void ga_host_keys_forget(struct ga *ga); /* the host knows nothing */

#endif
