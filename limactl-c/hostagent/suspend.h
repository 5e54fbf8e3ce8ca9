/* suspend.h - the machine's way into a file and back.
 *
 *   begun ─► machine goes on, if it was paused ─► guest is asked to get ready ─► it says that it is ─► state is written
 *
 * Somebody who comes while the guest gets ready is served instead. A guest agent that does not answer in time is saved as it is.
 * When the machine goes on, saved or not, the guest is told, with random bytes for what it must not draw twice. A state that
 * cannot be gone on with is given up in words, and the guest boots afresh.
 */
#ifndef LIMA_HOSTAGENT_SUSPEND_H
#define LIMA_HOSTAGENT_SUSPEND_H

#include "limactl-c/hostagent/vm.h"

struct ha;

enum suspend_phase { SUSPEND_NONE, SUSPEND_RESUMING, SUSPEND_ASKED, SUSPEND_WRITING };

struct suspend {
	enum suspend_phase phase;
	struct deadline *patience; /* with the guest, set only in SUSPEND_ASKED */
	bool untold;               /* the guest does not know yet that it went on */
};

void suspend_init(struct ha *ha);
void suspend_fini(struct ha *ha);

/* VMCTL_SAVE and VMCTL_RESTORE for life_operation(): 0: begun, ha->op says what. */
int suspend_begin(struct ha *ha, struct err *e);
int suspend_restore(struct ha *ha, struct err *e);
bool suspend_step(struct ha *ha, const struct vm_event *ev); /* whether an operation's end was that of a step of ours */
void suspend_gone(struct ha *ha);                            /* the machine is */
int suspend_message(struct ha *ha, const uint8_t *body, size_t len); /* AP_MSG_SUSPEND; -1: malformed */
void suspend_linked(struct ha *ha);                          /* the guest agent answers */
void suspend_tell(struct ha *ha); /* the guest, that its memory is one that was kept: now, or as soon as there is a link */

/* What follows the end of the two operations (life.c). */
void suspend_saved(struct ha *ha);
void suspend_save_failed(struct ha *ha, const struct err *e);
void suspend_restored(struct ha *ha);
void suspend_restore_failed(struct ha *ha, const struct err *e);

#endif
