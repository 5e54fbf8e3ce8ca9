/* inst.h - instance folders: list, open, create, delete, and what lives in them.
 *
 * Truth about running is an flock held by a living process, never a pid in a file.
 */
#ifndef LIMA_INST_H
#define LIMA_INST_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "lib/cleanup.h"
#include "lib/err.h"

struct inst {
	char *name;
	char *dir; /* absolute */
};

enum inst_status {
	INST_STOPPED,
	INST_RUNNING, /* host agent alive (booting, running, paused, asleep: ask ha.sock) */
	INST_ORPHAN,  /* machine alive without its host agent: start adopts it */
	INST_BROKEN,  /* no lima.yaml, or it cannot be read */
};

/* Lima's rule for names: ^[A-Za-z0-9]+(?:[._-](?:[A-Za-z0-9]+))*$, at most 76, not ending in .yml or .yaml. */
int inst_check_name(const char *name, struct err *e);

int inst_open(const char *name, struct inst *out, struct err *e); /* ERR_NOTFOUND names the known ones */
void inst_fini(struct inst *i);

/* Names in order (folder_list_free()); files, _folders and .folders are skipped. */
int inst_list(char ***names, size_t *count, struct err *e);

/* Makes the folder (0700) with lima.yaml and lima-version complete or not at all (built beside, then renamed). */
int inst_create(const char *name, const char *yaml, size_t len, struct inst *out, struct err *e);
/* The same with a folder that fill makes: it gets an empty one. */
int inst_create_by(const char *name, int (*fill)(const char *dir, const void *arg, struct err *e), const void *arg,
		   struct inst *out, struct err *e);
/* A copy of a stopped instance under another name, without what belongs to the one: locks, logs, sockets, its
 * saved state, its protection; with a machine id of its own. */
int inst_clone(const struct inst *i, const char *name, struct inst *out, struct err *e);
/* The id its guest is to have, malloc'd: 32 hexadecimal digits; NULL: the one its disk has. */
char *inst_machine_id(const char *dir);
/* Gives a stopped instance another name; i stays as it is. */
int inst_rename(const struct inst *i, const char *name, struct inst *out, struct err *e);
bool inst_is_protected(const struct inst *i);
int inst_check_unprotected(const struct inst *i, struct err *e); /* may it be deleted? */
/* Removes the folder; refused when protected or not stopped. */
int inst_delete(const struct inst *i, struct err *e);

enum inst_status inst_status(const struct inst *i);
bool inst_runs(const struct inst *i); /* host agent or machine is alive */
const char *inst_status_word(enum inst_status s); /* Lima's: Stopped, Running, Broken */

/* Takes one of the locks; the descriptor holds it (inheritable when keep). ERR_EXISTS: another process holds it, or the
 * instance. */
int inst_lock(const struct inst *i, bool vm, bool keep, struct err *e);

/* A stopped instance, for one command at a time: nobody starts it meanwhile. It stays stopped to who looks. */
struct inst_hold {
	int held, ha, vm; /* -1: none, for something else lies in the place of the lock */
};
#define INST_HOLD_INIT { -1, -1, -1 }
/* Waits a little for another command. ERR_STATE: it is running, or somebody else's for longer. */
int inst_hold(const struct inst *i, struct inst_hold *h, struct err *e);
void inst_release(struct inst_hold *h);
#define auto_hold CLEANUP(inst_release) struct inst_hold

/* Ends the processes that hold the locks (host agent, machine), for when they cannot be asked. */
int inst_kill(const struct inst *i, struct err *e);

#endif
