#include "limactl-c/hostagent/life.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/cleanup.h"
#include "lib/clock.h"
#include "lib/log.h"
#include "limactl-c/base/fs.h"
#include "limactl-c/base/mem.h"
#include "limactl-c/hostagent/api.h"
#include "limactl-c/hostagent/copies.h"
#include "limactl-c/hostagent/reset.h"
#include "limactl-c/hostagent/snapshots.h"
#include "limactl-c/hostagent/state.h"
#include "limactl-c/hostagent/words.h"
#include "limactl-c/store/paths.h"

enum {
	POWERDOWN_MS = 180000,     /* from the power button to the end, then it is killed */
	POWERDOWN_EARLY_MS = 5000, /* while nobody in the guest can hear the button yet */
	KILL_MS = 10000,
};

/* --- the end --- */

void life_answer(struct ha_waiter **list, int status, const char *text)
{
	struct ha_waiter *w = *list, *next;

	*list = NULL;
	for (; w; w = next) {
		next = w->next;
		w->done(w, status, text);
	}
}

static void close_listeners(struct ha *ha)
{
	publish_close(ha->publish);
	if (ha->ssh)
		ssh_close(ha->ssh);
	if (ha->sockets)
		sockets_close(ha->sockets);
	if (ha->sshfs)
		sshfs_close(ha->sshfs);
}

/* Everything of ours leaves the folder before the lock does, so the next start finds it clean. */
static void finish(struct ha *ha)
{
	auto_free char *pid_file = path_in(ha->plan->dir, PATH_HA_PID), *tmp = state_tmp(ha->plan);
	const char *why = jx_as_string(jx_at(ha->errors, jx_count(ha->errors) - 1));

	if (ha->ended)
		return;
	ha->ended = true;
	ha->state = HA_STOPPING;
	deadline_stop(ha->end_deadline);
	ready_done(ha->ready);
	harvester_stop(ha->harvester);
	guest_disconnect(ha->guest);
	close_listeners(ha);
	api_close(ha->api);
	unlink(pid_file);
	unlink(tmp);
	if (!ha->machine_left) {
		copies_delete(ha->plan);
		paths_remove_machine(ha->plan->dir);
	}
	vmctl_release(ha->vm);
	events_exiting(ha->events, ha->errors);
	close(ha->lock);
	ha->lock = -1;
	life_answer(&ha->waiters, ha->exit_code ? 500 : 409, why ? why : "the instance has stopped");
	life_answer(&ha->wakers, 409, "the instance has stopped");
	if (ha->exit_code)
		life_answer(&ha->enders, 500, why);
	else
		life_answer(&ha->enders, 200, ha->cut_off ? "killed" : "stopped");
	loop_stop(ha->loop);
}

void life_fail(struct ha *ha, const char *why)
{
	log_error("%s", why);
	jx_add_string(ha->errors, why);
	ha->exit_code = 1;
	finish(ha);
}

/* --- operations --- */

int life_operation(struct ha *ha, enum vmctl_op op, struct err *e)
{
	if (op == VMCTL_SAVE)
		return suspend_begin(ha, e);
	return op == VMCTL_RESTORE ? suspend_restore(ha, e) : life_operation_on(ha, op, NULL, e);
}

int life_operation_on(struct ha *ha, enum vmctl_op op, const char *path, struct err *e)
{
	if (vmctl_begin(ha->vm, op, path, e) < 0)
		return -1;
	ha->op = op;
	if (op == VMCTL_POWERDOWN)
		guest_ending(ha->guest);
	return 0;
}

void life_begin_or_fail(struct ha *ha, enum vmctl_op op)
{
	struct err e = { 0 };

	if (life_operation(ha, op, &e) < 0)
		life_fail(ha, e.msg);
	else if (op == VMCTL_START)
		harvester_boots(ha->harvester);
}

static void kill_now(struct ha *ha)
{
	ha->killed = true;
	ha->state = HA_STOPPING;
	guest_ending(ha->guest);
	deadline_in(ha->end_deadline, KILL_MS);
	vmctl_kill(ha->vm);
}

/* Called when the end_deadline has passed. */
static void on_end_deadline(void *ctx)
{
	struct ha *ha = ctx;

	if (ha->killed) {
		life_fail(ha, "the machine's process was killed but does not end");
		return;
	}
	log_warn("the guest did not power off in time: its machine is killed");
	ha->cut_off = true;
	kill_now(ha);
}

static void no_button(struct ha *ha, const struct err *e)
{
	log_warn("the power button does not work (%s): the machine is killed", e->msg);
	ha->cut_off = true;
	kill_now(ha);
}

static void press_button(struct ha *ha)
{
	struct err e = { 0 };

	deadline_in(ha->end_deadline, ha->agent_known ? POWERDOWN_MS : POWERDOWN_EARLY_MS);
	if (guest_is_up(ha->guest))
		guest_send_power_off(ha->guest);
	if (life_operation(ha, VMCTL_POWERDOWN, &e) < 0)
		no_button(ha, &e);
}

static void stop_now(struct ha *ha)
{
	enum ha_state was = ha->state;

	ha->state = HA_STOPPING;
	ready_done(ha->ready);
	harvester_stop(ha->harvester);
	close_listeners(ha);
	if (was == HA_SAVED || vmctl_state(ha->vm) == VM_OFF)
		finish(ha);
	else
		press_button(ha);
}

void life_stop(struct ha *ha, bool force)
{
	if (force && vmctl_state(ha->vm) != VM_OFF) {
		close_listeners(ha);
		kill_now(ha);
	} else if (force) {
		finish(ha);
	} else if (ha->op != VMCTL_NONE && ha->state != HA_STOPPING) {
		ha->stop_wanted = true;
	} else if (ha->state != HA_STOPPING) {
		stop_now(ha);
	}
}

void life_machine_runs(struct ha *ha)
{
	events_started(ha->events);
	sockets_start(ha->sockets);
	ssh_start(ha->ssh);
	publish_start(ha->publish);
	guest_connect(ha->guest);
	ready_machine(ha->ready);
}

void life_settle(struct ha *ha, enum ha_state s)
{
	ha->state = s;
	life_answer(&ha->waiters, 200, life_word(s));
	if (s == HA_RUNNING)
		life_answer(&ha->wakers, 200, life_word(s));
}

static void done_start(struct ha *ha)
{
	life_machine_runs(ha);
}

static void done_adopt(struct ha *ha)
{
	log_info("adopted the machine that was left running, process %d", (int)vmctl_pid(ha->vm));
	/* It has gone on since any state was saved. */
	state_remove(ha->plan);
	/* Whoever starts an instance wants it to run. */
	if (vmctl_state(ha->vm) == VM_PAUSED)
		life_begin_or_fail(ha, VMCTL_RESUME);
	else
		life_machine_runs(ha);
}

static void done_pause(struct ha *ha)
{
	life_settle(ha, HA_PAUSED);
}

void life_tell_time(void *ctx)
{
	struct ha *ha = ctx;

	/* Without a link it is told when there is one again. A full queue means that nobody listens there. */
	if (guest_is_up(ha->guest) && guest_send_time(ha->guest) < 0)
		log_warn("the guest could not be told the time");
}

static void done_resume(struct ha *ha)
{
	if (ha->state == HA_STARTING) {
		life_machine_runs(ha);
	} else {
		life_tell_time(ha); /* its clock stood still */
		life_settle(ha, HA_RUNNING);
	}
}

static void done_powerdown(struct ha *ha)
{
	finish(ha);
}

void life_give_up(struct ha *ha, const char *why)
{
	if (vmctl_state(ha->vm) == VM_OFF) {
		life_fail(ha, why);
		return;
	}
	log_error("%s", why);
	jx_add_string(ha->errors, why);
	ha->exit_code = 1;
	kill_now(ha);
}

static void failed_fatal(struct ha *ha, const struct err *e)
{
	life_give_up(ha, e->msg);
}

/* A machine that lives but does not answer is somebody's data: it is not killed without being asked to. */
static void failed_adopt(struct ha *ha, const struct err *e)
{
	auto_free char *why = xasprintf("the machine left running does not answer (%s); \"stop -f\" ends it", e->msg);

	ha->machine_left = true;
	life_fail(ha, why);
}

/* Back to what the driver says it is. */
static void failed_back(struct ha *ha, const struct err *e)
{
	enum ha_state was = ha->state;

	if (ha->state == HA_STARTING || ha->state == HA_STOPPING) {
		failed_fatal(ha, e);
		return;
	}
	log_warn("%s", e->msg);
	ha->state = vmctl_state(ha->vm) == VM_PAUSED ? HA_PAUSED : HA_RUNNING;
	life_answer(&ha->waiters, 500, e->msg);
	if (was == HA_RUNNING && ha->state == HA_PAUSED)
		life_begin_or_fail(ha, VMCTL_RESUME);
}

static void done_snapshot(struct ha *ha)
{
	snapshots_over(ha, true);
	life_settle(ha, ha->state);
}

static void failed_snapshot(struct ha *ha, const struct err *e)
{
	snapshots_over(ha, false);
	if (vmctl_state(ha->vm) == VM_OFF)
		life_fail(ha, e->msg);
	else
		failed_back(ha, e);
}

static const struct {
	const char *doing;
	void (*done)(struct ha *ha);
	void (*failed)(struct ha *ha, const struct err *e);
} ops[] = {
	[VMCTL_ADOPT] = { "being adopted", done_adopt, failed_adopt },
	[VMCTL_START] = { "being started", done_start, failed_fatal },
	[VMCTL_PAUSE] = { "being paused", done_pause, failed_back },
	[VMCTL_RESUME] = { "being resumed", done_resume, failed_back },
	[VMCTL_SAVE] = { "being saved", suspend_saved, suspend_save_failed },
	[VMCTL_RESTORE] = { "being restored", suspend_restored, suspend_restore_failed },
	[VMCTL_SNAPSHOT_CREATE] = { "being given a snapshot", done_snapshot, failed_snapshot },
	[VMCTL_SNAPSHOT_APPLY] = { "going back to a snapshot", done_snapshot, failed_snapshot },
	[VMCTL_SNAPSHOT_DELETE] = { "getting rid of a snapshot", done_snapshot, failed_snapshot },
	[VMCTL_POWERDOWN] = { "being stopped", done_powerdown, no_button },
};

const char *life_doing(const struct ha *ha)
{
	return ha->op == VMCTL_NONE ? "stopping" : ops[ha->op].doing;
}

/* --- what happens --- */

static void fail_early(struct ha *ha)
{
	static const char what[] = "the guest powered itself off before it was ready";
	auto_free char *words = words_of_ours(ha->plan);
	auto_free char *why = xasprintf("%s%s%s", what, words ? "; it says: " : "", words ? words : "");

	life_fail(ha, why);
}

static void exited(struct ha *ha, const struct err *e)
{
	if (ha->state == HA_STARTING && !ha->killed && (ha->guest_off || e->kind == ERR_NONE))
		fail_early(ha);
	else if (ha->state == HA_STOPPING || ha->killed || ha->guest_off || e->kind == ERR_NONE)
		finish(ha);
	else
		life_fail(ha, e->msg);
}

void life_stop_if_wanted(struct ha *ha)
{
	if (!ha->stop_wanted || ha->op != VMCTL_NONE || ha->ended || ha->state == HA_STOPPING)
		return;
	ha->stop_wanted = false;
	stop_now(ha);
}

void life_event(void *ctx, const struct vm_event *ev)
{
	struct ha *ha = ctx;
	enum vmctl_op op = ha->op;

	if (ha->ended)
		return;
	switch (ev->type) {
	case VM_EV_NONE:
		return;
	case VM_EV_POWERDOWN:
		ha->guest_off = true;
		guest_ending(ha->guest);
		if (ha->state == HA_RUNNING) {
			log_info("the guest is powering itself off");
			ha->state = HA_STOPPING;
			close_listeners(ha);
		}
		return;
	case VM_EV_RESUMED:
		life_tell_time(ha);
		return;
	case VM_EV_RESET:
		reset_happened(ha, &ev->error);
		return;
	case VM_EV_EXITED:
		ha->op = VMCTL_NONE;
		suspend_gone(ha);
		exited(ha, &ev->error);
		return;
	case VM_EV_DONE:
	case VM_EV_FAILED:
		if (suspend_step(ha, ev))
			return;
		ha->op = VMCTL_NONE;
		if (op == VMCTL_NONE)
			return;
		if (ev->type == VM_EV_DONE)
			ops[op].done(ha);
		else
			ops[op].failed(ha, &ev->error);
		break;
	}
	life_stop_if_wanted(ha);
}

void life_ready(void *ctx)
{
	struct ha *ha = ctx;
	auto_jx *errors = NULL;

	if (ha->state != HA_STARTING || ha->ended || !ready_all(ha->ready))
		return;
	ha->state = HA_RUNNING;
	ready_errors(ha->ready, ha->errors);
	errors = ha_errors(ha);
	ready_done(ha->ready);
	sockets_accept(ha->sockets);
	log_info("the instance is %s", jx_count(errors) ? "running, degraded" : "running");
	events_running(ha->events, errors);
	harvester_start(ha->harvester);
	life_settle(ha, HA_RUNNING); /* who woke up one that had to boot */
}

/* --- the beginning --- */

void life_begin(struct ha *ha)
{
	struct err e = { 0 };
	int fits;

	ha->end_deadline = deadline_new(ha->loop, on_end_deadline, ha);
	if (life_operation(ha, VMCTL_ADOPT, &e) == 0)
		return;
	if (e.kind != ERR_NOTFOUND) {
		failed_adopt(ha, &e);
		return;
	}
	fits = state_check(ha->plan, &e);
	if (fits > 0 && life_operation(ha, VMCTL_RESTORE, &e) == 0)
		return;
	/* A disk that another instance has now: the saved machine can wait. */
	if (fits > 0 && e.kind == ERR_EXISTS) {
		life_fail(ha, e.msg);
		return;
	}
	if (fits)
		log_warn("the saved machine is given up and the guest boots afresh: %s", e.msg);
	state_remove(ha->plan);
	life_begin_or_fail(ha, VMCTL_START);
}
