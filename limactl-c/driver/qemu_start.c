/* Starting a QEMU, finding one that runs, and putting away what is left of one that has ended. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/cleanup.h"
#include "limactl-c/base/fs.h"
#include "limactl-c/base/mem.h"
#include "limactl-c/driver/qemu_args.h"
#include "limactl-c/driver/qemu_vm.h"
#include "limactl-c/store/inst.h"
#include "limactl-c/store/paths.h"

enum { LOG_MAX = 256 << 10 }; /* bytes of driver.stderr.log before it is moved aside at a start */

static const struct {
	enum path_name path;
	enum qemu_fd fd;
} sockets[] = {
	{ PATH_QMP_HA, QEMU_FD_QMP_HA },
	{ PATH_QMP, QEMU_FD_QMP },
	{ PATH_AGENT_SOCK, QEMU_FD_AGENT },
	{ PATH_SERIAL_SOCK, QEMU_FD_CONSOLE },
};
enum { SOCKETS = sizeof(sockets) / sizeof(*sockets) };

static int listen_all(const struct vm *vm, struct spawn *s, struct err *e)
{
	for (size_t i = 0; i < SOCKETS; i++) {
		auto_free char *path = path_in(vm->plan->dir, sockets[i].path);
		int fd = fs_listen_unix(path, 0600, e);

		if (fd < 0)
			return -1;
		s->fd[sockets[i].fd - QEMU_FD_LOCK] = fd;
	}
	return 0;
}

/* Our own ends; they wait in the sockets' queues until QEMU takes them, or end with it. */
static int connect_ours(struct vm *vm, bool fresh, struct err *e)
{
	auto_free char *qmp = path_in(vm->plan->dir, PATH_QMP_HA), *console = path_in(vm->plan->dir, PATH_SERIAL_SOCK);
	auto_free char *log = path_in(vm->plan->dir, PATH_SERIAL_LOG);
	struct err ignored;
	int fd = vm_connect(qmp, e);

	if (fd < 0)
		return -1;
	vm->qmp = qmp_new(fd);
	vm->greeted = vm->ready = vm->output = vm->eof = vm->guest_off = vm->guest_reset = vm->went_on = vm->status_known = false;
	if (waitset_put(vm->waits, fd, false, e) < 0)
		return -1;
	/* A machine without a record of its console is one all the same. */
	vm->console = qemu_console_open(console, log, fresh, &ignored);
	return vm->console ? waitset_put(vm->waits, qemu_console_fd(vm->console), false, e) : 0;
}

/* What QEMU says from here on is this one's. */
static void note_log(struct vm *vm, const char *log)
{
	struct stat st;

	vm->log_from = stat(log, &st) == 0 ? st.st_size : 0;
}

static pid_t spawn_qemu(struct vm *vm, const struct spawn *s, bool incoming, struct err *e)
{
	auto_free char *log = path_in(vm->plan->dir, PATH_DRIVER_LOG);
	char **argv = qemu_args_make(vm->plan, incoming);
	struct spawn with = *s;
	pid_t pid;

	fs_rotate(log, LOG_MAX);
	note_log(vm, log);
	with.argv = (const char *const *)argv;
	with.log = log;
	with.new_session = true;
	pid = spawner_start(vm->spawner, &with, e);
	vm_args_free(argv);
	if (pid < 0 && e->kind == ERR_NOTFOUND)
		err_wrap(e, "QEMU is not installed (Debian: qemu-system-x86 or qemu-system-arm; Homebrew: qemu)");
	return pid;
}

static void write_pid(const struct vm *vm)
{
	auto_free char *path = path_in(vm->plan->dir, PATH_QEMU_PID);
	struct err ignored; /* for other tools only; nothing here reads it */
	char text[16];

	snprintf(text, sizeof(text), "%d\n", (int)vm->pid);
	fs_write_atomic(path, text, strlen(text), 0644, &ignored);
}

static int launch(struct vm *vm, struct spawn *s, bool incoming, struct err *e)
{
	if (listen_all(vm, s, e) < 0 || connect_ours(vm, !incoming, e) < 0 ||
	    vm_shares_start(&vm->shares, vm->plan, vm->spawner, e) < 0)
		return -1;
	vm->pid = spawn_qemu(vm, s, incoming, e);
	if (vm->pid < 0)
		return -1;
	vm->pidfd = vm_pidfd(vm->pid);
	vm->ours = true;
	return 0;
}

int qemu_launch(struct vm *vm, bool incoming, struct err *e)
{
	struct spawn s = { .fds = QEMU_FD_END - QEMU_FD_LOCK };
	int rc;

	for (size_t i = 0; i < SPAWN_FDS_MAX; i++)
		s.fd[i] = -1;
	s.fd[0] = inst_lock(&(struct inst){ vm->plan->name, vm->plan->dir }, true, false, e);
	if (s.fd[0] < 0)
		return -1;
	rc = vm_disks_lock(&vm->disks, vm->plan, &s, e) < 0 ? -1 : launch(vm, &s, incoming, e);
	/* QEMU's copies of these are the only ones from here on: they end when it does. */
	for (size_t i = 0; i < QEMU_FD_END - QEMU_FD_LOCK; i++)
		cleanup_closep(&s.fd[i]);
	if (rc < 0)
		qemu_put_away(vm);
	else
		write_pid(vm);
	return rc;
}

int qemu_connect(struct vm *vm, struct err *e)
{
	auto_free char *log = path_in(vm->plan->dir, PATH_DRIVER_LOG);

	if (connect_ours(vm, false, e) < 0) {
		qemu_let_go(vm);
		return e->errnum == ENOENT || e->errnum == ECONNREFUSED ?
			       err_set(e, ERR_NOTFOUND, "no machine is running") : -1;
	}
	/* QEMU called listen() itself when it started, so the socket tells its pid, not that of who made it. */
	vm->pid = vm_peer(qmp_fd(vm->qmp));
	vm->pidfd = vm_pidfd(vm->pid);
	vm->ours = false;
	if (vm->pid <= 0 || vm->pid == getpid() || vm->pidfd < 0) {
		qemu_let_go(vm);
		return err_set(e, ERR_STATE, "the process of the running machine cannot be told");
	}
	note_log(vm, log);
	return 0;
}

void qemu_let_go(struct vm *vm)
{
	qmp_free(vm->qmp);
	vm->qmp = NULL;
	qemu_console_close(vm->console);
	vm->console = NULL;
	cleanup_closep(&vm->pidfd);
	vm->pidfd = -1;
	vm->pid = 0;
	vm->state = VM_OFF;
}

void qemu_put_away(struct vm *vm)
{
	if (vm->console)
		qemu_console_read(vm->console);
	qemu_let_go(vm);
	vm_shares_end(&vm->shares, vm->plan);
	paths_remove_machine(vm->plan->dir);
}
