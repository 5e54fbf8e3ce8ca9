/* The operations: rows of steps, and what becomes of them. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/cleanup.h"
#include "lib/clock.h"
#include "limactl-c/base/fs.h"
#include "limactl-c/driver/qemu_vm.h"

enum {
	BUTTON_MS = 5000, /* pressed again so often: a guest that boots does not hear it */
	STATE_RATE = 1 << 30, /* times 1024 bytes a second: no limit in practice; QEMU's own is 128 MiB/s */
};

/* --- commands --- */

static int send_with(struct vm *vm, const char *command, struct jx *args, int pass, struct err *e)
{
	vm->waited_id = qmp_send(vm->qmp, command, args, pass);
	return vm->waited_id ? 0 : err_set(e, ERR_STATE, "QEMU takes no more commands");
}

int qemu_send(struct vm *vm, const char *command, struct jx *args, struct err *e)
{
	return send_with(vm, command, args, -1, e);
}

static int send_capabilities(struct vm *vm, struct err *e)
{
	return qemu_send(vm, "qmp_capabilities", NULL, e);
}

/* So that the end of a migration is told and need not be asked for. */
static int send_events(struct vm *vm, struct err *e)
{
	struct jx *args = jx_new_object(), *list = jx_new_array(), *one = jx_new_object();

	jx_set_string(one, "capability", "events");
	jx_set_bool(one, "state", true);
	jx_add(list, one);
	jx_set(args, "capabilities", list);
	return qemu_send(vm, "migrate-set-capabilities", args, e);
}

static int send_stop(struct vm *vm, struct err *e)
{
	return qemu_send(vm, "stop", NULL, e);
}

static int send_cont(struct vm *vm, struct err *e)
{
	return qemu_send(vm, "cont", NULL, e);
}

static int send_rate(struct vm *vm, struct err *e)
{
	struct jx *args = jx_new_object();

	jx_set_int(args, "max-bandwidth", STATE_RATE * 1024LL);
	return qemu_send(vm, "migrate-set-parameters", args, e);
}

static int send_file(struct vm *vm, struct err *e)
{
	struct jx *args = jx_new_object();

	jx_set_string(args, "fdname", "state");
	return send_with(vm, "getfd", args, vm->state_fd, e);
}

static int send_migration(struct vm *vm, const char *command, struct err *e)
{
	struct jx *args = jx_new_object();

	vm->migrated = false;
	jx_set_string(args, "uri", "fd:state");
	return qemu_send(vm, command, args, e);
}

static int send_out(struct vm *vm, struct err *e)
{
	return send_migration(vm, "migrate", e);
}

static int send_in(struct vm *vm, struct err *e)
{
	return send_migration(vm, "migrate-incoming", e);
}

static int send_quit(struct vm *vm, struct err *e)
{
	return qemu_send(vm, "quit", NULL, e);
}

/* A former host agent may have died while it saved. */
static int send_cancel(struct vm *vm, struct err *e)
{
	return qemu_send(vm, "migrate_cancel", NULL, e);
}

static int send_query(struct vm *vm, struct err *e)
{
	return qemu_send(vm, "query-status", NULL, e);
}

static int press_button(struct vm *vm, struct err *e)
{
	vm->wake = clock_ms() + BUTTON_MS;
	return qemu_send(vm, "system_powerdown", NULL, e);
}

/* The state fits the disk only until the machine runs. */
static int drop_file(struct vm *vm, struct err *e)
{
	return unlink(vm->path) < 0 ? err_errno(e, "remove %s", vm->path) : fs_sync_parent(vm->path, e);
}

/* --- replies --- */

static int take_ready(struct vm *vm, const struct jx *data, struct err *e)
{
	(void)data;
	(void)e;
	vm->ready = true;
	return 0;
}

static int take_status(struct vm *vm, const struct jx *data, struct err *e)
{
	/* Saved, but its saver died before ending it: it may go on. */
	static const char *const still[] = { "paused", "prelaunch", "finish-migrate", "postmigrate", "io-error", NULL };
	const char *status = jx_string(data, "status", e);

	if (!status)
		return -1;
	vm->before = VM_OFF;
	if (!strcmp(status, "running"))
		vm->before = VM_RUNNING;
	for (size_t i = 0; still[i]; i++)
		if (!strcmp(status, still[i]))
			vm->before = VM_PAUSED;
	return vm->before == VM_OFF ? err_set(e, ERR_STATE, "QEMU says its state is \"%s\"", status) : 0;
}

/* --- rows --- */

static const struct qemu_step start_row[] = {
	{ WAIT_GREETING, NULL, NULL },
	{ WAIT_REPLY, send_capabilities, take_ready },
	{ WAIT_REPLY, send_events, NULL },
};
static const struct qemu_step adopt_row[] = {
	{ WAIT_GREETING, NULL, NULL },
	{ WAIT_REPLY, send_capabilities, take_ready },
	{ WAIT_REPLY, send_events, NULL },
	{ WAIT_REPLY, send_cancel, NULL },
	{ WAIT_REPLY, send_query, take_status },
};
static const struct qemu_step pause_row[] = { { WAIT_REPLY, send_stop, NULL } };
static const struct qemu_step resume_row[] = { { WAIT_REPLY, send_cont, NULL } };
static const struct qemu_step save_row[] = {
	{ WAIT_REPLY, send_stop, NULL }, /* first: what the host agent writes into shared memory no migration under way sees */
	{ WAIT_REPLY, send_rate, NULL },
	{ WAIT_REPLY, send_file, NULL },
	{ WAIT_REPLY, send_out, NULL },
	{ WAIT_MIGRATION, NULL, NULL },
	{ WAIT_SYNC, qemu_sync_begin, NULL },
	{ WAIT_EXIT, send_quit, NULL },
};
static const struct qemu_step restore_row[] = {
	{ WAIT_GREETING, NULL, NULL },
	{ WAIT_REPLY, send_capabilities, take_ready },
	{ WAIT_REPLY, send_events, NULL },
	{ WAIT_REPLY, send_file, NULL },
	{ WAIT_REPLY, send_in, NULL },
	{ WAIT_MIGRATION, NULL, NULL },
	{ WAIT_NOTHING, drop_file, NULL },
	{ WAIT_REPLY, send_cont, NULL },
};
static const struct qemu_step snapshot_row[] = {
	{ WAIT_REPLY, qemu_job_begin, NULL },
	{ WAIT_JOB, NULL, NULL },
	{ WAIT_REPLY, qemu_job_query, qemu_job_take },
	{ WAIT_REPLY, qemu_job_dismiss, NULL },
};
static const struct qemu_step powerdown_row[] = {
	{ WAIT_REPLY, send_cont, NULL }, /* nobody hears the button while it stands still */
	{ WAIT_EXIT, press_button, NULL },
};
static const struct qemu_step kill_row[] = { { WAIT_EXIT, send_quit, NULL } };

#define ROW(r) r, sizeof(r) / sizeof(*(r))
static const struct {
	const char *doing;
	const struct qemu_step *step;
	size_t steps;
	int64_t limit; /* ms */
	enum vm_state after;
	bool stays; /* after it: what it was before */
} rows[OPS] = {
	[OP_START] = { "start", ROW(start_row), 30000, VM_RUNNING },
	[OP_ADOPT] = { "adopt", ROW(adopt_row), 5000, .stays = true }, /* what take_status() found */
	[OP_PAUSE] = { "pause", ROW(pause_row), 10000, VM_PAUSED },
	[OP_RESUME] = { "resume", ROW(resume_row), 10000, VM_RUNNING },
	[OP_SAVE] = { "save", ROW(save_row), 180000, VM_OFF },
	[OP_RESTORE] = { "restore", ROW(restore_row), 60000, VM_RUNNING },
	[OP_SNAPSHOT_CREATE] = { "make a snapshot of", ROW(snapshot_row), 600000, .stays = true },
	[OP_SNAPSHOT_APPLY] = { "set back", ROW(snapshot_row), 600000, .stays = true },
	[OP_SNAPSHOT_DELETE] = { "delete a snapshot of", ROW(snapshot_row), 600000, .stays = true },
	[OP_POWERDOWN] = { "power down", ROW(powerdown_row), 200000, VM_OFF }, /* the host agent gives up before */
	[OP_KILL] = { "end", ROW(kill_row), 2000, VM_OFF },
};

static const struct qemu_step *current(const struct vm *vm)
{
	return vm->op == OP_NONE || vm->ending ? NULL : &rows[vm->op].step[vm->at];
}

static enum qemu_wait waits_for(const struct vm *vm)
{
	const struct qemu_step *s = current(vm);

	return s ? s->wait : WAIT_NOTHING;
}

/* --- ends --- */

void qemu_op_end(struct vm *vm)
{
	vm->op = OP_NONE;
	vm->ending = false;
	vm->deadline = vm->wake = -1;
	vm->waited_id = vm->why_id = 0;
	free(vm->path);
	vm->path = NULL;
	cleanup_closep(&vm->state_fd);
	vm->state_fd = -1;
	while (vm->sync_fd >= 0) {
		struct err ignored;

		kill(vm->sync_pid, SIGKILL);
		qemu_sync_end(vm, &ignored);
	}
}

static void op_done(struct vm *vm)
{
	vm->state = rows[vm->op].stays ? vm->before : rows[vm->op].after;
	qemu_op_end(vm);
	vm_events_put(&vm->events, VM_EV_DONE, NULL);
}

static void undo_save(struct vm *vm)
{
	enum qemu_wait waiting = waits_for(vm);

	/* QEMU needs no answer read for it to be done. */
	if (vm->at > 2 && waiting != WAIT_SYNC)
		qmp_send(vm->qmp, "migrate_cancel", NULL, -1);
	unlink(vm->path);
	vm->state = vm->at ? VM_PAUSED : vm->before;
}

static void end_for(struct vm *vm, const struct err *why)
{
	vm->ending = true;
	vm->failure = *why;
	vm->deadline = -1;
	vm_signal(vm->pidfd, vm->pid, SIGKILL);
}

void qemu_op_failed(struct vm *vm, const struct err *e)
{
	struct err said = *e;

	err_wrap(&said, "cannot %s the machine", rows[vm->op].doing);
	switch (vm->op) {
	case OP_START:
	case OP_RESTORE:
		end_for(vm, e);
		return;
	case OP_ADOPT:
		qemu_let_go(vm);
		break;
	case OP_SNAPSHOT_APPLY:
		/* Once it has begun the disk may be the old one and the memory anything. */
		if (vm->at) {
			end_for(vm, e);
			return;
		}
		vm->state = vm->before;
		break;
	case OP_SAVE:
		undo_save(vm);
		break;
	case OP_POWERDOWN:
		vm->state = vm->at ? VM_RUNNING : vm->before;
		break;
	default:
		vm->state = vm->before;
	}
	qemu_op_end(vm);
	vm_events_put(&vm->events, VM_EV_FAILED, &said);
}

void qemu_op_gone(struct vm *vm, const struct err *why)
{
	enum qemu_op op = vm->op;
	bool meant = waits_for(vm) == WAIT_EXIT, failed = vm->ending, off = vm->guest_off;
	struct err said = failed ? vm->failure : *why;
	static const struct err asked = { .kind = ERR_NONE };

	if (op != OP_NONE)
		err_wrap(&said, "cannot %s the machine", rows[op].doing);
	if (op == OP_SAVE && !meant)
		unlink(vm->path);
	qemu_op_end(vm);
	if (op == OP_KILL) {
		vm_events_put(&vm->events, VM_EV_EXITED, &asked);
	} else if (meant) {
		vm_events_put(&vm->events, VM_EV_DONE, NULL);
	} else {
		if (op != OP_NONE)
			vm_events_put(&vm->events, VM_EV_FAILED, &said);
		if (op != OP_START && op != OP_RESTORE)
			vm_events_put(&vm->events, VM_EV_EXITED, off ? &asked : &said);
	}
}

/* --- going on --- */

/* Begins the step the row is at and those after it, as far as nothing is to be waited for. */
static void run_steps(struct vm *vm)
{
	while (vm->at < rows[vm->op].steps) {
		const struct qemu_step *s = current(vm);
		struct err e = { 0 };

		if (s->begin && s->begin(vm, &e) < 0) {
			qemu_op_failed(vm, &e);
			return;
		}
		if (s->wait != WAIT_NOTHING && !(s->wait == WAIT_GREETING && vm->greeted) &&
		    !(s->wait == WAIT_MIGRATION && vm->migrated) && !(s->wait == WAIT_JOB && vm->concluded))
			return;
		vm->at++;
	}
	op_done(vm);
}

static void next_step(struct vm *vm)
{
	vm->at++;
	run_steps(vm);
}

void qemu_op_begin(struct vm *vm, enum qemu_op op, enum vm_state during)
{
	vm->op = op;
	vm->before = vm->state;
	vm->state = during;
	vm->at = 0;
	vm->deadline = clock_ms() + rows[op].limit;
	run_steps(vm);
}

static void on_reply(struct vm *vm, const struct qmp_msg *m)
{
	const struct qemu_step *s = current(vm);
	struct err e = { 0 };

	if (vm->why_id && m->id == vm->why_id) {
		err_set(&e, ERR_STATE, "QEMU: %s", jx_string_or(m->data, "error-desc", "it gives no reason"));
		qemu_op_failed(vm, &e);
		return;
	}
	if (waits_for(vm) != WAIT_REPLY || m->id != vm->waited_id)
		return;
	if (m->error)
		err_set(&e, ERR_STATE, "QEMU: %s", m->error);
	if (m->error || (s->reply && s->reply(vm, m->data, &e) < 0))
		qemu_op_failed(vm, &e);
	else
		next_step(vm);
}

/* Both may come before the reply to the command that began it, so what happened is noted. */
static void on_migration(struct vm *vm, const struct jx *data)
{
	const char *status = jx_string_or(data, "status", "");

	if (vm->op != OP_SAVE && vm->op != OP_RESTORE)
		return;
	if (!strcmp(status, "completed")) {
		vm->migrated = true;
		if (waits_for(vm) == WAIT_MIGRATION)
			next_step(vm);
	} else if (!strcmp(status, "failed") && !vm->ending) {
		vm->why_id = qmp_send(vm->qmp, "query-migrate", NULL, -1);
	}
}

static void on_job(struct vm *vm, const struct jx *data)
{
	if (strcmp(jx_string_or(data, "id", ""), vm->job) || strcmp(jx_string_or(data, "status", ""), "concluded"))
		return;
	vm->concluded = true;
	if (waits_for(vm) == WAIT_JOB)
		next_step(vm);
}

static void on_shutdown(struct vm *vm, const struct jx *data)
{
	if (!jx_bool_or(data, "guest", false))
		return;
	vm->guest_off = true;
	if (vm->op != OP_POWERDOWN && vm->op != OP_KILL && vm->op != OP_START && vm->op != OP_RESTORE)
		vm_events_put(&vm->events, VM_EV_POWERDOWN, NULL);
}

/* Told when the console has been read: why is said there, and was sent before this. */
static void on_reset(struct vm *vm, const struct jx *data)
{
	vm->guest_reset |= jx_bool_or(data, "guest", false);
}

/* Somebody at qmp.sock, or QEMU itself when the host's disk is full. */
static void on_stop(struct vm *vm, const struct jx *data)
{
	(void)data;
	if (vm->op == OP_NONE && vm->state == VM_RUNNING)
		vm->state = VM_PAUSED;
}

static void on_resume(struct vm *vm, const struct jx *data)
{
	(void)data;
	if (vm->op != OP_NONE || vm->state != VM_PAUSED)
		return;
	vm->state = VM_RUNNING;
	vm->went_on = true;
}

static const struct {
	const char *name;
	void (*fn)(struct vm *vm, const struct jx *data);
} handlers[] = {
	{ "MIGRATION", on_migration },
	{ "JOB_STATUS_CHANGE", on_job },
	{ "SHUTDOWN", on_shutdown },
	{ "RESET", on_reset },
	{ "STOP", on_stop },
	{ "RESUME", on_resume },
};

void qemu_op_message(struct vm *vm, const struct qmp_msg *m)
{
	if (m->kind == QMP_GREETING) {
		vm->greeted = true;
		if (waits_for(vm) == WAIT_GREETING)
			next_step(vm);
	} else if (m->kind == QMP_REPLY) {
		on_reply(vm, m);
	} else {
		for (size_t i = 0; i < sizeof(handlers) / sizeof(*handlers); i++)
			if (!strcmp(m->name, handlers[i].name))
				handlers[i].fn(vm, m->data);
	}
}

void qemu_op_sync(struct vm *vm)
{
	struct err e = { 0 };
	int r = vm->sync_fd >= 0 ? qemu_sync_end(vm, &e) : 0;

	if (r < 0)
		qemu_op_failed(vm, &e);
	else if (r > 0)
		next_step(vm);
}

void qemu_op_time(struct vm *vm, int64_t now)
{
	struct err e = { 0 };

	if (vm->op == OP_POWERDOWN && vm->at == 1 && vm->wake >= 0 && now >= vm->wake)
		press_button(vm, &e);
	if (vm->deadline < 0 || now < vm->deadline)
		return;
	if (vm->op == OP_KILL || (vm->op == OP_SAVE && waits_for(vm) == WAIT_EXIT)) {
		vm->deadline = -1;
		vm_signal(vm->pidfd, vm->pid, SIGKILL);
		return;
	}
	err_set(&e, ERR_TIMEOUT, "not done within %d s", (int)(rows[vm->op].limit / 1000));
	qemu_op_failed(vm, &e);
}
