/* What the commands of the control socket do in each state. */
#include <stdio.h>

#include "limactl-c/hostagent/life.h"

/* What a command does in each state: begin an operation, nothing because it is so already, or not possible. */
static const struct {
	enum vmctl_op op;
	const char *refusal; /* op VMCTL_NONE and none: it is so already */
} rules[HA_STATES][HA_STOP] = {
	[HA_STARTING] = {
		[HA_PAUSE] = { 0, "the instance is starting: wait until it runs" },
		[HA_RESUME] = { 0, "the instance is starting" },
		[HA_SAVE] = { 0, "the instance is starting: wait until it runs" },
		[HA_RESTORE] = { 0, "the instance is starting" },
	},
	[HA_RUNNING] = {
		[HA_PAUSE] = { VMCTL_PAUSE, NULL },
		[HA_SAVE] = { VMCTL_SAVE, NULL },
		[HA_RESTORE] = { 0, "the instance is running: there is no saved machine to restore" },
	},
	[HA_PAUSED] = {
		[HA_RESUME] = { VMCTL_RESUME, NULL },
		[HA_SAVE] = { VMCTL_SAVE, NULL },
		[HA_RESTORE] = { 0, "the instance is paused, not saved: resume it" },
	},
	[HA_SAVED] = {
		[HA_PAUSE] = { 0, "the instance is saved: restore it first" },
		[HA_RESUME] = { 0, "the instance is saved, not paused: restore it" },
		[HA_RESTORE] = { VMCTL_RESTORE, NULL },
	},
	[HA_STOPPING] = {
		[HA_PAUSE] = { 0, "the instance is stopping" },
		[HA_RESUME] = { 0, "the instance is stopping" },
		[HA_SAVE] = { 0, "the instance is stopping" },
		[HA_RESTORE] = { 0, "the instance is stopping" },
	},
};

void ha_command(struct ha *ha, enum ha_command cmd, bool force, struct ha_waiter *w)
{
	struct err e = { 0 };

	if (cmd == HA_STOP) {
		w->next = ha->enders;
		ha->enders = w;
		harvester_answered(ha->harvester); /* nobody waits for it any more */
		life_stop(ha, force);
		return;
	}
	if (rules[ha->state][cmd].refusal) {
		w->done(w, 409, rules[ha->state][cmd].refusal);
	} else if (ha->op != VMCTL_NONE || ha->stop_wanted) {
		snprintf(e.msg, sizeof(e.msg), "the instance is %s: wait until that is done", life_doing(ha));
		w->done(w, 409, e.msg);
	} else if (rules[ha->state][cmd].op == VMCTL_NONE) {
		w->done(w, 200, life_word(ha->state));
	} else if (life_operation(ha, rules[ha->state][cmd].op, &e) < 0) {
		w->done(w, 409, e.msg);
	} else {
		w->next = ha->waiters;
		ha->waiters = w;
	}
}
