/* user.h - whom commands run as, and the environment they start with. */
#ifndef LIMA_GUESTAGENT_USER_H
#define LIMA_GUESTAGENT_USER_H

#include <stdbool.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "lib/err.h"
#include "lib/settings.h"

struct ga_user {
	char name[64];
	uid_t uid;
	gid_t gid;
	char home[256];
	char shell[256];
};

/* The instance's user of the settings, or root. What the settings leave out comes from /etc/passwd. */
int ga_user_find(struct ga_user *u, const struct settings *s, bool root, struct err *e);

/* Runs fn in a child with the user's rights; its error becomes ours. */
int ga_user_call(const struct ga_user *u, int (*fn)(const void *arg, struct err *e), const void *arg, struct err *e);

/* All of these are for a forked child, before it executes. */

int ga_user_become(const struct ga_user *u); /* groups, gid, uid; -1 with errno set. Nothing when we are not root */

/* Replaces the environment by that of a login: HOME USER LOGNAME SHELL PATH, XDG_RUNTIME_DIR where there is
 * one, then env.* of the settings. */
void ga_user_environment(const struct ga_user *u, const struct settings *s, const char *run_dir);

void ga_child_signals(void); /* undoes what the daemon did to signals */

/* Under QEMU's emulation, where the host says so: from the next exec on, it and its children lie where they lay before. QEMU keeps
 * translated code by virtual address, and translating a small program anew takes several times as long as it runs. */
void ga_child_fix_addresses(const struct settings *s);

/* For one that outlives the daemon: a session of its own, these limits of open files (struct ga), and no
 * descriptor of the daemon's from first on, above all not the port: it can be opened once, and a daemon started anew needs it. */
void ga_child_alone(const struct rlimit *files, unsigned first);

#endif
