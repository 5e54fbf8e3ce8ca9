/* What the commands of the control socket do in each state, and signals. */
#include <stdio.h>

#include "lib/clock.h"
#include "lib/log.h"
#include "limactl-c/hostagent/life.h"
#include "limactl-c/hostagent/snapshots.h"

enum { SIGNAL_AGAIN_MS = 1000 }; /* a second signal after this time is meant as one */

static const char *const state_words[] = {
	[HA_STARTING] = "starting", [HA_RUNNING] = "running",   [HA_PAUSED] = "paused",
	[HA_SAVED] = "saved",       [HA_STOPPING] = "stopping",
};
_Static_assert(sizeof(state_words) / sizeof(*state_words) == HA_STATES, "a word for each state");

const char *life_word(enum ha_state s)
{
	return state_words[s];
}

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
		[HA_WAKE] = { 0, "the instance is starting" },
		[HA_SNAPSHOT_CREATE] = { 0, "the instance is starting: wait until it runs" },
		[HA_SNAPSHOT_APPLY] = { 0, "the instance is starting: wait until it runs" },
		[HA_SNAPSHOT_DELETE] = { 0, "the instance is starting: wait until it runs" },
	},
	[HA_RUNNING] = {
		[HA_PAUSE] = { VMCTL_PAUSE, NULL },
		[HA_SAVE] = { VMCTL_SAVE, NULL },
		[HA_RESTORE] = { 0, "the instance is running: there is no saved machine to restore" },
		[HA_SNAPSHOT_CREATE] = { VMCTL_SNAPSHOT_CREATE, NULL },
		[HA_SNAPSHOT_APPLY] = { VMCTL_SNAPSHOT_APPLY, NULL },
		[HA_SNAPSHOT_DELETE] = { VMCTL_SNAPSHOT_DELETE, NULL },
	},
	[HA_PAUSED] = {
		[HA_RESUME] = { VMCTL_RESUME, NULL },
		[HA_SAVE] = { VMCTL_SAVE, NULL },
		[HA_RESTORE] = { 0, "the instance is paused, not saved: resume it" },
		[HA_WAKE] = { VMCTL_RESUME, NULL },
		[HA_SNAPSHOT_CREATE] = { VMCTL_SNAPSHOT_CREATE, NULL },
		[HA_SNAPSHOT_APPLY] = { VMCTL_SNAPSHOT_APPLY, NULL },
		[HA_SNAPSHOT_DELETE] = { VMCTL_SNAPSHOT_DELETE, NULL },
	},
	[HA_SAVED] = {
		[HA_PAUSE] = { 0, "the instance is saved: restore it first (`limactl-c resume`)" },
		[HA_RESUME] = { 0, "the instance is saved, not paused: restore it (`limactl-c resume`)" },
		[HA_RESTORE] = { VMCTL_RESTORE, NULL },
		[HA_WAKE] = { VMCTL_RESTORE, NULL },
		[HA_SNAPSHOT_CREATE] = { 0, "the instance is saved: restore it first (`limactl-c resume`)" },
		[HA_SNAPSHOT_APPLY] = { 0, "the instance is saved: restore it first (`limactl-c resume`)" },
		[HA_SNAPSHOT_DELETE] = { 0, "the instance is saved: restore it first (`limactl-c resume`)" },
	},
	[HA_STOPPING] = {
		[HA_PAUSE] = { 0, "the instance is stopping" },
		[HA_RESUME] = { 0, "the instance is stopping" },
		[HA_SAVE] = { 0, "the instance is stopping" },
		[HA_RESTORE] = { 0, "the instance is stopping" },
		[HA_WAKE] = { 0, "the instance is stopping" },
		[HA_SNAPSHOT_CREATE] = { 0, "the instance is stopping" },
		[HA_SNAPSHOT_APPLY] = { 0, "the instance is stopping" },
		[HA_SNAPSHOT_DELETE] = { 0, "the instance is stopping" },
	},
};

static int begin(struct ha *ha, enum vmctl_op op, const char *tag, struct err *e)
{
	return op >= VMCTL_SNAPSHOT_CREATE && op <= VMCTL_SNAPSHOT_DELETE ? snapshots_begin(ha, op, tag, e) :
									    life_operation(ha, op, e);
}

static void wait_with(struct ha_waiter **list, struct ha_waiter *w)
{
	w->next = *list;
	*list = w;
}

static bool goes_to_sleep(const struct ha *ha)
{
	return ha->op == VMCTL_PAUSE || ha->op == VMCTL_SAVE;
}

/* Who puts it to sleep says whether it may wake up by itself. */
static void hold(struct ha *ha, const struct ha_order *o)
{
	if (o->cmd == HA_PAUSE || o->cmd == HA_SAVE)
		idle_hold(ha->idle, !o->until_used);
}

void ha_command(struct ha *ha, const struct ha_order *o, struct ha_waiter *w)
{
	enum ha_command cmd = o->cmd;
	struct err e = { 0 };

	if (cmd == HA_STOP) {
		wait_with(&ha->enders, w);
		harvester_answered(ha->harvester); /* nobody waits for it any more */
		life_stop(ha, o->force);
		return;
	}
	if (rules[ha->state][cmd].refusal) {
		w->done(w, 409, rules[ha->state][cmd].refusal);
	} else if (cmd == HA_WAKE && goes_to_sleep(ha) && !ha->stop_wanted) {
		wait_with(&ha->wakers, w);
		ha->held = false;
		idle_want(ha->idle);
	} else if (ha->op != VMCTL_NONE || ha->stop_wanted) {
		snprintf(e.msg, sizeof(e.msg), "the instance is %s: wait until that is done", life_doing(ha));
		w->done(w, 409, e.msg);
	} else if (rules[ha->state][cmd].op == VMCTL_NONE) {
		hold(ha, o);
		w->done(w, 200, life_word(ha->state));
	} else if (begin(ha, rules[ha->state][cmd].op, o->tag, &e) < 0) {
		w->done(w, 409, e.msg);
	} else {
		hold(ha, o);
		wait_with(&ha->waiters, w);
	}
}

void life_signal(void *ctx, int signum)
{
	struct ha *ha = ctx;
	/* A terminal's Ctrl-C may come twice: from the terminal, and from a program that got it too. */
	bool again = ha->signal_at && clock_ms() - ha->signal_at >= SIGNAL_AGAIN_MS;

	if (!ha->signal_at)
		ha->signal_at = clock_ms();
	log_info("signal %d: %s", signum, again ? "the machine is killed" : "stopping");
	life_stop(ha, again);
}
