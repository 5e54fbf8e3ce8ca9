/* The driver of QEMU machines: what may be begun when, and taking whatever comes. */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/cleanup.h"
#include "lib/clock.h"
#include "limactl-c/base/fs.h"
#include "limactl-c/base/mem.h"
#include "limactl-c/driver/drivers.h"
#include "limactl-c/driver/qemu_vm.h"
#include "limactl-c/store/paths.h"

enum {
	STATUS_MS = 3000,         /* QMP has ended: so long the spawner's word on how QEMU ended is waited for */
	STDERR_MAX = 1 << 20,     /* bytes of driver.stderr.log while QEMU runs */
	TAIL_LINES = 10, TAIL_BYTES = 700, /* of it, in the sentence about its end */
};

static struct vm *qemu_open(const struct plan *plan, struct spawner *spawner, struct err *e)
{
	struct waitset *waits;
	struct vm *vm;

	if (!plan->qemu || !plan->machine || !plan->cpu) {
		err_set(e, ERR_NOTFOUND, "QEMU is not installed: the plan names no program for %s", plan->arch);
		return NULL;
	}
	waits = waitset_new(e);
	if (!waits)
		return NULL;
	vm = xcalloc(1, sizeof(*vm));
	*vm = (struct vm){ .plan = plan, .spawner = spawner, .waits = waits, .state = VM_OFF, .pidfd = -1, .deadline = -1,
			   .wake = -1, .state_fd = -1, .sync_fd = -1 };
	return vm;
}

static void qemu_release(struct vm *vm)
{
	vm_disks_release(&vm->disks, vm->plan, vm->state == VM_OFF);
}

static void qemu_close(struct vm *vm)
{
	qemu_release(vm);
	qemu_op_end(vm);
	qemu_let_go(vm);
	waitset_free(vm->waits);
	free(vm);
}

/* --- operations --- */

static int need(const struct vm *vm, unsigned states, const char *what, struct err *e)
{
	if (vm->op != OP_NONE || !(states & 1U << vm->state) || (vm->state != VM_OFF && vm->eof))
		return err_set(e, ERR_STATE, "the machine cannot be %s now", what);
	return 0;
}

enum { OFF = 1U << VM_OFF, RUNNING = 1U << VM_RUNNING, PAUSED = 1U << VM_PAUSED };

static int flush(struct vm *vm, struct err *e)
{
	bool output;

	/* A connection that is broken here is found by step(), which reads to its end. */
	if (!vm->qmp || vm->eof || qmp_flush(vm->qmp, e) < 0)
		return 0;
	output = qmp_has_output(vm->qmp);
	if (output == vm->output)
		return 0;
	vm->output = output;
	return waitset_put(vm->waits, qmp_fd(vm->qmp), output, e);
}

static int begin(struct vm *vm, enum qemu_op op, enum vm_state during)
{
	struct err ignored;

	qemu_op_begin(vm, op, during);
	flush(vm, &ignored);
	return 0;
}

static int qemu_start(struct vm *vm, struct err *e)
{
	if (need(vm, OFF, "started", e) < 0 || qemu_launch(vm, false, e) < 0)
		return -1;
	return begin(vm, OP_START, VM_STARTING);
}

static int qemu_adopt(struct vm *vm, struct err *e)
{
	if (need(vm, OFF, "adopted", e) < 0 || qemu_connect(vm, e) < 0)
		return -1;
	return begin(vm, OP_ADOPT, VM_STARTING);
}

/* QEMU appends to its log, so it may be cut under it. */
static void bound_log(const struct vm *vm)
{
	auto_free char *log = path_in(vm->plan->dir, PATH_DRIVER_LOG);
	struct stat st;

	if (stat(log, &st) == 0 && st.st_size > STDERR_MAX && truncate(log, 0) < 0) {
		/* It grows a little more. */
	}
}

static int qemu_pause(struct vm *vm, struct err *e)
{
	if (need(vm, RUNNING, "paused", e) < 0)
		return -1;
	bound_log(vm);
	return begin(vm, OP_PAUSE, VM_RUNNING);
}

static int qemu_resume(struct vm *vm, struct err *e)
{
	if (need(vm, PAUSED, "resumed", e) < 0)
		return -1;
	return begin(vm, OP_RESUME, VM_PAUSED);
}

static int qemu_save(struct vm *vm, const char *path, struct err *e)
{
	if (need(vm, RUNNING | PAUSED, "saved", e) < 0)
		return -1;
	unlink(path); /* another name of an older state stays what it is */
	vm->state_fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (vm->state_fd < 0)
		return err_errno(e, "create %s", path);
	vm->path = xstrdup(path);
	return begin(vm, OP_SAVE, VM_SAVING);
}

static int qemu_restore(struct vm *vm, const char *path, struct err *e)
{
	auto_close int fd = -1;

	if (need(vm, OFF, "restored", e) < 0)
		return -1;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return err_errno(e, "open %s", path);
#ifdef POSIX_FADV_WILLNEED
	/* Should the host have forgotten it, it is read while QEMU starts. */
	posix_fadvise(fd, 0, 0, POSIX_FADV_WILLNEED);
#endif
	if (qemu_launch(vm, true, e) < 0)
		return -1;
	vm->state_fd = steal_fd(&fd);
	vm->path = xstrdup(path);
	return begin(vm, OP_RESTORE, VM_RESTORING);
}

static int qemu_snapshot(struct vm *vm, enum vm_snapshot what, const char *tag, struct err *e)
{
	static const struct {
		enum qemu_op op;
		enum vm_state during;
		const char *word;
	} ways[] = {
		[VM_SNAPSHOT_CREATE] = { OP_SNAPSHOT_CREATE, VM_SAVING, "given a snapshot" },
		[VM_SNAPSHOT_APPLY] = { OP_SNAPSHOT_APPLY, VM_RESTORING, "set back" },
		[VM_SNAPSHOT_DELETE] = { OP_SNAPSHOT_DELETE, VM_SAVING, "rid of a snapshot" },
	};

	if (need(vm, RUNNING | PAUSED, ways[what].word, e) < 0)
		return -1;
	vm->path = xstrdup(tag);
	return begin(vm, ways[what].op, ways[what].during);
}

static int qemu_powerdown(struct vm *vm, struct err *e)
{
	if (need(vm, RUNNING | PAUSED, "stopped", e) < 0)
		return -1;
	return begin(vm, OP_POWERDOWN, VM_STOPPING);
}

/* Asked first, so that it writes what it holds of its disks. */
static void qemu_kill(struct vm *vm)
{
	if (vm->state == VM_OFF || vm->op == OP_KILL)
		return;
	if (vm->op == OP_SAVE)
		unlink(vm->path);
	qemu_op_end(vm);
	begin(vm, OP_KILL, VM_STOPPING);
	if (!vm->ready)
		vm_signal(vm->pidfd, vm->pid, SIGKILL);
}

/* --- what comes --- */

static void end_qmp(struct vm *vm)
{
	vm->eof = true;
	vm->deadline = -1;
	vm->wake = clock_ms() + STATUS_MS;
	waitset_del(vm->waits, qmp_fd(vm->qmp));
}

/* A QEMU that does not speak QMP cannot be controlled, so it must not go on. */
static void lose_control(struct vm *vm, const struct err *why)
{
	vm_signal(vm->pidfd, vm->pid, SIGKILL);
	end_qmp(vm);
	if (!vm->ending)
		vm->failure = *why;
	vm->ending = true;
}

static void take_qmp(struct vm *vm)
{
	struct qmp_msg m;
	struct err e = { 0 };
	int filled, got;

	do {
		filled = vm->eof ? 0 : qmp_fill(vm->qmp, &e);
		while (vm->qmp && (got = qmp_next(vm->qmp, &m, &e)) > 0)
			qemu_op_message(vm, &m);
		if (!vm->qmp)
			return; /* an adoption failed: it was let go */
		if (got < 0) {
			lose_control(vm, &e);
			return;
		}
	} while (filled > 0);
	if (filled < 0)
		end_qmp(vm);
}

static void gone(struct vm *vm)
{
	auto_free char *log = path_in(vm->plan->dir, PATH_DRIVER_LOG), *tail = NULL;
	struct err why = { 0 };
	struct stat st;
	off_t fresh = stat(log, &st) == 0 ? st.st_size - vm->log_from : 0;

	vm_say_exit(&why, "QEMU", vm->status_known, vm->status);
	if (fresh > 0)
		tail = fs_tail(log, TAIL_LINES, fresh < TAIL_BYTES ? (size_t)fresh : TAIL_BYTES);
	if (tail && *tail) {
		auto_free char *end = xstrdup(why.msg);

		err_set(&why, ERR_STATE, "%s: %s", end, tail);
	}
	qemu_put_away(vm);
	qemu_op_gone(vm, &why);
}

static void tell_reset(struct vm *vm)
{
	char words[CONSOLE_LINE_MAX];
	struct err panic = { 0 };

	if (vm->console && qemu_console_panic(vm->console, words))
		err_set(&panic, ERR_STATE, "%s", words);
	vm->guest_reset = false;
	vm_events_put(&vm->events, VM_EV_RESET, &panic);
}

static void take_console(struct vm *vm)
{
	bool open = !vm->console || qemu_console_read(vm->console);

	if (vm->guest_reset)
		tell_reset(vm);
	if (open)
		return;
	qemu_console_close(vm->console);
	vm->console = NULL;
}

static void take_all(struct vm *vm)
{
	struct err ignored;
	int64_t now;

	take_qmp(vm);
	if (!vm->qmp)
		return;
	if (vm->went_on)
		vm_events_put(&vm->events, VM_EV_RESUMED, NULL);
	vm->went_on = false;
	take_console(vm);
	qemu_op_sync(vm);
	now = clock_ms();
	if (!vm->eof && vm->status_known)
		end_qmp(vm); /* somebody else holds the socket */
	if (vm->eof && (vm->status_known || !vm->ours || now >= vm->wake)) {
		gone(vm);
		return;
	}
	if (!vm->eof) {
		qemu_op_time(vm, now);
		flush(vm, &ignored);
	}
}

static void qemu_step(struct vm *vm, struct vm_event *ev)
{
	if (!vm->events.count && vm->qmp)
		take_all(vm);
	vm_events_get(&vm->events, ev);
}

static void qemu_child_exited(struct vm *vm, pid_t pid, int status)
{
	if (pid != vm->pid || !vm->ours)
		return;
	vm->status_known = true;
	vm->status = status;
}

/* --- what there is to know --- */

static enum vm_state qemu_state(const struct vm *vm)
{
	return vm->state;
}

static int qemu_fd(const struct vm *vm)
{
	return vm->qmp ? waitset_fd(vm->waits) : -1;
}

static short qemu_wants(const struct vm *vm)
{
	(void)vm;
	return POLLIN;
}

static int64_t qemu_deadline(const struct vm *vm)
{
	if (vm->wake < 0 || vm->deadline < 0)
		return vm->wake < 0 ? vm->deadline : vm->wake;
	return vm->wake < vm->deadline ? vm->wake : vm->deadline;
}

static int qemu_carrier(struct vm *vm, struct err *e)
{
	auto_free char *path = path_in(vm->plan->dir, PATH_AGENT_SOCK);

	return vm_connect(path, e);
}

static int qemu_memory(const struct vm *vm)
{
	return vm_memory_of(vm->pid, vm->plan->shared_memory);
}

static pid_t qemu_pid(const struct vm *vm)
{
	return vm->pid;
}

const struct vm_driver driver_qemu = {
	.name = "qemu",
	.open = qemu_open,
	.release = qemu_release,
	.close = qemu_close,
	.start = qemu_start,
	.adopt = qemu_adopt,
	.pause = qemu_pause,
	.resume = qemu_resume,
	.save = qemu_save,
	.restore = qemu_restore,
	.snapshot = qemu_snapshot,
	.powerdown = qemu_powerdown,
	.kill = qemu_kill,
	.state = qemu_state,
	.fd = qemu_fd,
	.wants = qemu_wants,
	.deadline = qemu_deadline,
	.step = qemu_step,
	.child_exited = qemu_child_exited,
	.carrier = qemu_carrier,
	.memory = qemu_memory,
	.pid = qemu_pid,
};
