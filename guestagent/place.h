/* place.h - where a file of provision[] goes: its path, whose it is, its permissions. */
#ifndef LIMA_GUESTAGENT_PLACE_H
#define LIMA_GUESTAGENT_PLACE_H

#include <stdbool.h>
#include <sys/types.h>

#include "guestagent/user.h"
#include "lib/err.h"
#include "lib/settings.h"

struct place {
	const char *path;    /* absolute; of the settings */
	struct ga_user user; /* with whose rights folders are made */
	uid_t uid;
	gid_t gid;           /* (gid_t)-1: as it is */
	mode_t mode;
};

/* Reads provision.NN.path, .owner ("user", "user:group", numbers too) and .permissions (octal). */
int place_find(struct place *p, const struct settings *s, int index, struct err *e);

/* Makes the folders above it as its owner. Where the owner may not: by root when as_root, else an error. */
int place_parents(const struct place *p, bool as_root, struct err *e);

/* Whether the owner may write the file that is there; -1 with the reason. */
int place_writable(const struct place *p, struct err *e);

/* Puts the rest of from there, with owner and permissions: readers see the old file or all of the new one. A symbolic
 * link that leads somewhere stays, its target is replaced. */
int place_write(const struct place *p, int from, struct err *e);

#endif
