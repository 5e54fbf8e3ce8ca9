/* pubkeys.h - public keys that may log in to a guest with a sshd. */
#ifndef LIMA_CLI_PUBKEYS_H
#define LIMA_CLI_PUBKEYS_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/cleanup.h"
#include "lib/err.h"

struct pubkeys {
	char **key; /* lines of authorized_keys */
	size_t keys;
	char **identity; /* the private halves in the folder dot_ssh that are there */
	size_t identities;
};

/* Lima's own key, <lima_home>/_config/user.pub, made with its private half when there is none (as Lima does, by
 * ssh-keygen; without that program a warning, unless quiet), then the first line of each file *.pub in the folder dot_ssh, in the
 * order of their names; NULL: none. A line that is no key is left out with a warning. */
int pubkeys_read(const char *lima_home, const char *dot_ssh, bool quiet, struct pubkeys *out, struct err *e);
void pubkeys_free(struct pubkeys *k);

#define auto_pubkeys CLEANUP(pubkeys_free) struct pubkeys

#endif
