/* snapshot.h - snapshots of an instance: inside its own disk, made by QEMU while it runs and by qemu-img while it does not.
 *
 * A snapshot of a running machine has its memory too. What that fits is noted in the instance folder, in snapshots/TAG.json;
 * the disk in it fits always.
 */
#ifndef LIMA_PLAN_SNAPSHOT_H
#define LIMA_PLAN_SNAPSHOT_H

#include <stdbool.h>

#include "limactl-c/base/jsonx.h"
#include "limactl-c/base/qcow2_snapshots.h"
#include "limactl-c/plan/plan.h"

/* Letters, digits, ".", "_", "-", "+", the first a letter or a digit, at most 76: it is a file's name and a column of a table. */
int snapshot_check_tag(const char *tag, struct err *e);

/* Whether the machine's disks can have snapshots at all; running: and its memory with them. */
int snapshot_possible(const struct plan *p, bool running, struct err *e);

/* Those of the machine's disk. */
int snapshot_list(const struct plan *p, struct qcow2_snapshots *out, struct err *e);

/* Whether there is none of that tag yet; whether there is one, which is then borrowed from s. */
int snapshot_check_new(const struct qcow2_snapshots *s, const char *tag, struct err *e);
const struct qcow2_snapshot *snapshot_find(const struct qcow2_snapshots *s, const char *tag, struct err *e); /* ERR_NOTFOUND */

/* Whether QEMU, which takes what it is to go back to for an id before it takes it for a tag, finds the one of that tag. */
int snapshot_check_apply(const struct qcow2_snapshots *s, const char *tag, struct err *e);

char *snapshot_note(const struct plan *p, const char *tag); /* path of snapshots/TAG.json, malloc'd; NULL: not a tag of ours */

/* The machine saved of a stopped instance fits the disk as it is: before that is set back, _tie says so in vm.state.json, and whoever
 * finds the state afterwards, because the one who did it was killed, asks _fits. No saved machine: nothing is done. */
int snapshot_tie_state(const struct plan *p, struct err *e);
bool snapshot_state_fits(const struct plan *p, const struct jx *meta);

void snapshot_forget(const struct plan *p, const char *tag); /* the note goes */

#endif
