#include "limactl-c/hostagent/suspend.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "lib/cleanup.h"
#include "lib/log.h"
#include "limactl-c/base/mem.h"
#include "limactl-c/hostagent/life.h"
#include "limactl-c/hostagent/state.h"

enum { READY_MS = 20000 }; /* a guest that has not got ready by then does not do it */

static bool has_mounts(const struct plan *p, enum plan_mount_type type)
{
	for (size_t i = 0; i < p->mounts; i++)
		if (p->mount[i].type == type)
			return true;
	return false;
}

static void set_phase(struct ha *ha, enum suspend_phase phase)
{
	ha->suspend.phase = phase;
	deadline_stop(ha->suspend.patience);
}

/* --- what the guest is told --- */

static void tell(struct ha *ha)
{
	struct ap_woken v;
	uint8_t body[sizeof(v)];
	ssize_t n;

	ha->suspend.untold = false;
	if (getentropy(v.seed, sizeof(v.seed)) < 0 || (n = ap_woken_pack(&v, body, sizeof(body))) < 0 ||
	    guest_send(ha->guest, AP_MSG_WOKEN, body, (size_t)n) < 0)
		log_warn("the guest could not be told that it went on");
	file_events_agent(ha->file_events);
}

void suspend_tell(struct ha *ha)
{
	ha->suspend.untold = true;
	if (guest_is_up(ha->guest))
		tell(ha);
}

void suspend_linked(struct ha *ha)
{
	if (ha->suspend.untold)
		tell(ha);
}

/* --- into a file --- */

/* The machine runs, and goes on. */
static void give_up(struct ha *ha, int status, const char *why)
{
	set_phase(ha, SUSPEND_NONE);
	ha->op = VMCTL_NONE;
	suspend_tell(ha);
	if (status != 409)
		log_warn("%s", why);
	life_answer(&ha->waiters, status, why);
	life_settle(ha, HA_RUNNING);
	life_stop_if_wanted(ha);
}

static int write_state(struct ha *ha, struct err *e)
{
	auto_free char *tmp = state_tmp(ha->plan);

	set_phase(ha, SUSPEND_WRITING);
	if (vmctl_begin(ha->vm, VMCTL_SAVE, tmp, e) < 0)
		return -1;
	guest_ending(ha->guest);
	return 0;
}

static void go_on_with(struct ha *ha, const char *why)
{
	struct err e = { 0 };

	if (*why) {
		err_set(&e, ERR_STATE, "the machine cannot be saved: %s", why);
		give_up(ha, 500, e.msg);
	} else if (guest_use(ha->guest)->wanted && !ha->held) {
		give_up(ha, 409, "the instance is being used, so it is not suspended");
	} else if (write_state(ha, &e) < 0) {
		give_up(ha, 500, e.msg);
	}
}

static void on_patience(void *ctx)
{
	struct ha *ha = ctx;
	bool mounts = has_mounts(ha->plan, PLAN_MOUNT_9P);

	log_warn("the guest agent does not get ready to be saved%s", mounts ? "" : ": it is saved as it is");
	go_on_with(ha, mounts ? "the guest agent does not let the host's folders go" : "");
}

/* The machine runs. */
static void ask(struct ha *ha)
{
	if (ha->state == HA_PAUSED)
		life_tell_time(ha);
	if (has_mounts(ha->plan, PLAN_MOUNT_9P))
		file_events_stop(ha->file_events);
	guest_send(ha->guest, AP_MSG_SUSPEND, NULL, 0); /* a full queue: it will not answer */
	set_phase(ha, SUSPEND_ASKED);
	deadline_in(ha->suspend.patience, READY_MS);
}

static int check(const struct ha *ha, struct err *e)
{
	/* QEMU would refuse, but only when everything has stopped. */
	if (has_mounts(ha->plan, PLAN_MOUNT_VIRTIOFS))
		return err_set(e, ERR_STATE, "a machine that shares folders by virtiofs cannot be saved, only paused or stopped "
			       "(mountType 9p and reverse-sshfs can be)");
	if (has_mounts(ha->plan, PLAN_MOUNT_9P) && !guest_is_up(ha->guest))
		return err_set(e, ERR_STATE, "the machine cannot be saved: its guest agent does not answer, which would have to let "
			       "the host's folders go");
	return 0;
}

int suspend_begin(struct ha *ha, struct err *e)
{
	int rc = 0;

	if (check(ha, e) < 0)
		return -1;
	if (!guest_is_up(ha->guest) || ha->plan->ssh_key) {
		rc = write_state(ha, e);
	} else if (vmctl_state(ha->vm) == VM_PAUSED) {
		set_phase(ha, SUSPEND_RESUMING);
		rc = vmctl_begin(ha->vm, VMCTL_RESUME, NULL, e);
	} else {
		ask(ha);
	}
	if (rc == 0)
		ha->op = VMCTL_SAVE;
	else
		set_phase(ha, SUSPEND_NONE);
	return rc;
}

bool suspend_step(struct ha *ha, const struct vm_event *ev)
{
	if (ha->op != VMCTL_SAVE || ha->suspend.phase != SUSPEND_RESUMING)
		return false;
	if (ev->type == VM_EV_DONE) {
		ask(ha);
		return true;
	}
	set_phase(ha, SUSPEND_NONE);
	return false;
}

int suspend_message(struct ha *ha, const uint8_t *body, size_t len)
{
	struct ap_suspend v;

	if (ap_suspend_unpack(&v, body, len) < 0)
		return -1;
	if (ha->suspend.phase == SUSPEND_ASKED)
		go_on_with(ha, v.why);
	return 0;
}

void suspend_gone(struct ha *ha)
{
	set_phase(ha, SUSPEND_NONE);
}

void suspend_saved(struct ha *ha)
{
	struct err e = { 0 };

	set_phase(ha, SUSPEND_NONE);
	guest_disconnect(ha->guest);
	if (state_commit(ha->plan, &e) < 0)
		life_fail(ha, e.msg);
	else
		life_settle(ha, HA_SAVED);
}

void suspend_save_failed(struct ha *ha, const struct err *e)
{
	auto_free char *tmp = state_tmp(ha->plan);

	set_phase(ha, SUSPEND_NONE);
	unlink(tmp);
	if (vmctl_state(ha->vm) == VM_OFF) {
		life_fail(ha, e->msg);
		return;
	}
	guest_connect(ha->guest);
	suspend_tell(ha);
	log_warn("%s", e->msg);
	life_answer(&ha->waiters, 500, e->msg);
	ha->state = HA_RUNNING;
	if (vmctl_state(ha->vm) == VM_PAUSED)
		life_begin_or_fail(ha, VMCTL_RESUME);
	else
		life_settle(ha, HA_RUNNING);
}

/* --- and back --- */

/* Who waits goes on waiting: the guest's agent is another one, all else is as at a start. */
static void boot_afresh(struct ha *ha, const char *why)
{
	auto_free char *text = xasprintf("the suspended machine could not go on and the guest has booted afresh: %s", why);

	troubles_set(ha->troubles, "suspend", text);
	state_remove(ha->plan);
	ready_free(ha->ready);
	ha->ready = ready_new(ha->loop, ha->guest, ha->plan, life_ready, ha);
	ready_mounts(ha->ready, ha->sshfs);
	ha->state = HA_STARTING;
	life_begin_or_fail(ha, VMCTL_START);
}

int suspend_restore(struct ha *ha, struct err *e)
{
	auto_free char *file = state_file(ha->plan);
	int fits;

	if (ha->state != HA_SAVED) /* a start looks itself */
		return life_operation_on(ha, VMCTL_RESTORE, file, e);
	fits = state_check(ha->plan, e);
	if (fits > 0 && life_operation_on(ha, VMCTL_RESTORE, file, e) == 0)
		return 0;
	/* A disk that another instance has now: the saved machine can wait. */
	if (fits > 0 && e->kind == ERR_EXISTS)
		return -1;
	boot_afresh(ha, fits ? e->msg : "its state is gone");
	return 0;
}

void suspend_restored(struct ha *ha)
{
	state_remove(ha->plan); /* the driver has removed the state itself before the machine ran */
	log_info("the saved machine is restored");
	suspend_tell(ha);
	if (ha->state == HA_STARTING) {
		life_machine_runs(ha);
	} else {
		guest_connect(ha->guest);
		life_settle(ha, HA_RUNNING);
	}
}

void suspend_restore_failed(struct ha *ha, const struct err *e)
{
	if (vmctl_state(ha->vm) != VM_OFF) {
		life_give_up(ha, e->msg);
	} else if (ha->state == HA_STARTING) {
		log_warn("the saved machine could not be restored, the guest boots afresh: %s", e->msg);
		state_remove(ha->plan);
		life_begin_or_fail(ha, VMCTL_START);
	} else if (ha->stop_wanted) {
		log_warn("%s", e->msg);
		life_answer(&ha->waiters, 500, e->msg);
	} else {
		boot_afresh(ha, e->msg);
	}
}

/* --- the whole --- */

void suspend_init(struct ha *ha)
{
	ha->suspend = (struct suspend){ .patience = deadline_new(ha->loop, on_patience, ha) };
}

void suspend_fini(struct ha *ha)
{
	deadline_free(ha->suspend.patience);
}
