/* state.h - a saved machine in the instance folder: vm.state, and vm.state.json that says what it fits.
 *
 * A state fits its disk only once: the moment the restored machine runs it writes to the disk, so the driver removes
 * the state before that. vm.state is there complete or not at all; vm.state.json is written first.
 */
#ifndef LIMA_HOSTAGENT_STATE_H
#define LIMA_HOSTAGENT_STATE_H

#include "lib/err.h"
#include "limactl-c/plan/plan.h"

char *state_tmp(const struct plan *p);  /* malloc'd: where the driver writes a state that is not complete yet */
char *state_file(const struct plan *p); /* malloc'd: vm.state */

/* The temporary file is complete: make it the saved state. */
int state_commit(const struct plan *p, struct err *e);

/* 1: there is a state and it fits; 0: there is none; -1: there is one that does not fit (e says why). */
int state_check(const struct plan *p, struct err *e);

/* The same for a machine's memory that lies elsewhere: what it fits is written to note, or read there. */
int state_note(const struct plan *p, const char *note, struct err *e);
int state_fits(const struct plan *p, const char *note, struct err *e); /* ERR_SYS with ENOENT: there is no note */

void state_remove(const struct plan *p); /* and an unfinished one */

#endif
