/* script.h - one entry of provision[]: its files, its run, its result. */
#ifndef LIMA_GUESTAGENT_SCRIPT_H
#define LIMA_GUESTAGENT_SCRIPT_H

#include <stdbool.h>

#include "lib/agentproto.h"
#include "lib/settings.h"

enum {
	SCRIPTS_MAX = AP_PROVISION_UPGRADE,
	EDIT_MAX = 1 << 20, /* bytes of a file that is edited; the host has the same bound */
};

/* The mode of AP_PROVISION_UPGRADE, which is no entry of the template. */
#define SCRIPT_UPGRADE "upgradePackages"

/* The number in "provision.NN.mode", -1 when key is another one. */
int script_index(const char *key);

/* The state on file; 0, or -1 when there is none yet. */
int script_load(const char *run_dir, int index, struct ap_provision *v);

/* Carries it out and writes its state before and after. One found "running" was interrupted and failed. Whether it has
 * succeeded, now or before. */
bool script_run(const char *run_dir, const struct settings *s, int index, const char *mode);

/* --- what the files script*.c share --- */

struct script {
	const char *run_dir;
	const struct settings *settings;
	int index;
	int log; /* -1: none */
	bool as_user;
};

void script_save(const char *run_dir, const struct ap_provision *v);
void script_path(const struct script *sc, const char *suffix, char *path, size_t size); /* <run>/provision/NN<suffix> */

_Noreturn void script_become(const struct script *sc); /* in a child: the script with its user and environment */
void script_remove_copy(const struct script *sc);      /* of a user's script */

int script_put_data(const struct script *sc, struct err *e);
int script_edit(const struct script *sc, struct err *e); /* the host edits the text; see provision.h */

#endif
