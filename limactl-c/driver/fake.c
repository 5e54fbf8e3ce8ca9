/* The native guest agent as "the machine", for tests of everything above the driver. It gets a network namespace of its
 * own, so its ports are not the host's, and the agent socket as an inherited listener, so that it outlives the host
 * agent and is adopted like QEMU. A saved machine is a marker: the agent is killed, restoring starts one anew.
 *
 * Everything it reads and writes lies in <dir>/fake; the host's own system is not touched. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/buf.h"
#include "lib/cleanup.h"
#include "lib/clock.h"
#include "lib/io.h"
#include "lib/settings.h"
#include "limactl-c/base/fs.h"
#include "limactl-c/base/mem.h"
#include "limactl-c/driver/common.h"
#include "limactl-c/driver/disks.h"
#include "limactl-c/driver/drivers.h"
#include "limactl-c/driver/fake_end.h"
#include "limactl-c/store/inst.h"
#include "limactl-c/store/paths.h"

enum {
	FAKE_LOG_MAX = 256 << 10, /* bytes of driver.stderr.log before it is moved aside at a start */
	FAKE_STOP_MS = 10000,
	FAKE_MEMORY = 1 << 20,    /* bytes shared with the agent */
};

static const char marker[] = "a machine of the fake driver\n";

enum goal { GOAL_RUN, GOAL_POWERDOWN, GOAL_SAVE, GOAL_KILL };

struct vm {
	const struct plan *plan;
	struct spawner *spawner;
	enum vm_state state;
	enum goal goal; /* why the process is expected to end */
	pid_t pid;
	int pidfd;
	bool ours;        /* the spawner reports its end; else only the pidfd tells */
	int carrier;      /* connected by adopt(), until asked for */
	int64_t deadline; /* of powerdown, -1 = none */
	bool status_known;
	int status;
	char net[64];     /* its network namespace */
	struct vm_events events;
	struct vm_disks disks;
};

static struct vm *fake_open(const struct plan *plan, struct spawner *spawner, struct err *e)
{
	struct vm *vm;

	if (!plan->agent) {
		err_set(e, ERR_INVALID, "the plan names no guest agent for the fake driver to run");
		return NULL;
	}
	vm = xcalloc(1, sizeof(*vm));
	*vm = (struct vm){ .plan = plan, .spawner = spawner, .pidfd = -1, .carrier = -1, .deadline = -1 };
	return vm;
}

static void fake_release(struct vm *vm)
{
	vm_disks_release(&vm->disks, vm->plan, vm->state == VM_OFF);
}

static void fake_close(struct vm *vm)
{
	fake_release(vm);
	cleanup_closep(&vm->pidfd);
	cleanup_closep(&vm->carrier);
	free(vm);
}

/* --- what the agent finds --- */

/* All scripts are the daemon's, since nobody runs setup; what would tune the machine is left out. */
static int write_settings(const struct plan *p, const char *path, struct err *e)
{
	auto_buf b = BUF_INIT(SETTINGS_SIZE_MAX);
	auto_free char *folder = NULL;

	for (size_t i = 0; i < p->settings; i++) {
		const struct plan_pair *s = &p->setting[i];
		bool script = !strncmp(s->key, "provision.", 10);

		if (!strncmp(s->key, "tuning.", 7))
			continue;
		if (settings_put(&b, s->key, script && !strcmp(s->value, "boot") ? "system" : s->value) < 0)
			return err_set(e, ERR_INVALID, "setting %s cannot be handed to the agent", s->key);
	}
	/* Where a test may put host keys: a folder for the guest's /etc/ssh. */
	folder = xasprintf("%s/fake/ssh", p->dir);
	if (settings_put(&b, "ssh.folder", folder) < 0)
		return err_set(e, ERR_INVALID, "the instance's folder cannot be handed to the agent");
	return fs_write_atomic(path, b.data ? b.data : "", b.len, 0600, e);
}

static int write_boot_id(const char *dir, struct err *e)
{
	auto_free char *path = xasprintf("%s/boot-id", dir);
	uint64_t id;
	char text[20];

	if (getrandom(&id, sizeof(id), 0) != (ssize_t)sizeof(id))
		return err_errno(e, "getrandom");
	snprintf(text, sizeof(text), "%016llx\n", (unsigned long long)id);
	return fs_write_atomic(path, text, strlen(text), 0600, e);
}

/* A fresh boot starts from nothing; a restored machine finds what it had. */
static int write_guest(const struct plan *p, const char *dir, struct err *e)
{
	auto_free char *scripts = xasprintf("%s/provision", dir), *settings = xasprintf("%s/settings", dir);

	if (fs_remove_tree(dir, e) < 0 || fs_mkdirs(scripts, 0700, e) < 0 || write_settings(p, settings, e) < 0)
		return -1;
	for (size_t i = 0; i < p->scripts; i++) {
		auto_free char *path = xasprintf("%s/%02zu", scripts, i);

		if (fs_write_atomic(path, p->script[i].text, strlen(p->script[i].text), 0700, e) < 0)
			return -1;
	}
	return write_boot_id(dir, e);
}

/* --- start, adopt --- */

static void know_process(struct vm *vm, pid_t pid, bool ours)
{
	vm->pid = pid;
	vm->ours = ours;
	vm->pidfd = vm_pidfd(pid);
	vm->status_known = false;
	vm->goal = GOAL_RUN;
	fake_net_of(pid, vm->net, sizeof(vm->net));
}

/* As QEMU makes it. */
static int make_memory(struct err *e)
{
	auto_close int fd = memfd_create("fake", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd < 0 || ftruncate(fd, FAKE_MEMORY) < 0 || fcntl(fd, F_ADD_SEALS, F_SEAL_GROW | F_SEAL_SHRINK) < 0)
		return err_errno(e, "memfd_create");
	return steal_fd(&fd);
}

static int launch(struct vm *vm, struct err *e)
{
	const struct plan *p = vm->plan;
	auto_free char *dir = xasprintf("%s/fake", p->dir), *settings = xasprintf("%s/settings", dir);
	auto_free char *sock = path_in(p->dir, PATH_AGENT_SOCK), *log = path_in(p->dir, PATH_DRIVER_LOG);
	auto_close int lock = -1, listener = -1, memory = -1;
	const char *argv[] = { p->agent, "daemon", "--carrier", "listen:4,5", "--settings", settings, "--run", dir, NULL };
	struct spawn s = { .argv = argv, .fds = 3, .log = log, .new_session = true, .new_net = true };
	pid_t pid;

	lock = inst_lock(&(struct inst){ p->name, p->dir }, true, false, e);
	if (lock < 0 || vm_disks_lock(&vm->disks, p, &s, e) < 0)
		return -1;
	listener = fs_listen_unix(sock, 0600, e);
	if (listener < 0)
		return -1;
	memory = make_memory(e);
	if (memory < 0)
		return -1;
	fs_rotate(log, FAKE_LOG_MAX);
	s.fd[0] = lock;
	s.fd[1] = listener;
	s.fd[2] = memory;
	pid = spawner_start(vm->spawner, &s, e);
	if (pid < 0) {
		unlink(sock);
		return -1;
	}
	know_process(vm, pid, true);
	vm->state = VM_RUNNING;
	vm_events_put(&vm->events, VM_EV_DONE, NULL);
	return 0;
}

static int need(bool possible, const char *what, struct err *e)
{
	return possible ? 0 : err_set(e, ERR_STATE, "the machine cannot be %s now", what);
}

static int fake_start(struct vm *vm, struct err *e)
{
	auto_free char *dir = xasprintf("%s/fake", vm->plan->dir);

	if (need(vm->state == VM_OFF, "started", e) < 0 || write_guest(vm->plan, dir, e) < 0)
		return -1;
	return launch(vm, e);
}

static int fake_adopt(struct vm *vm, struct err *e)
{
	auto_free char *sock = path_in(vm->plan->dir, PATH_AGENT_SOCK);
	auto_close int fd = -1;
	pid_t pid;

	if (need(vm->state == VM_OFF, "adopted", e) < 0)
		return -1;
	fd = vm_connect(sock, e);
	if (fd < 0)
		return e->errnum == ENOENT || e->errnum == ECONNREFUSED ?
			       err_set(e, ERR_NOTFOUND, "no machine is running") : -1;
	/* The agent called listen() itself, so the socket tells its pid. */
	pid = vm_peer(fd);
	if (pid <= 0)
		return err_set(e, ERR_STATE, "who listens on %s cannot be told", sock);
	know_process(vm, pid, false);
	vm->carrier = steal_fd(&fd);
	vm->state = fake_is_stopped(pid) ? VM_PAUSED : VM_RUNNING;
	vm_events_put(&vm->events, VM_EV_DONE, NULL);
	return 0;
}

/* --- the other operations --- */

/* Done means that it stands still, which is a matter of microseconds here. */
static int fake_pause(struct vm *vm, struct err *e)
{
	if (need(vm->state == VM_RUNNING, "paused", e) < 0)
		return -1;
	vm_signal(vm->pidfd, vm->pid, SIGSTOP);
	for (int i = 0; i < 200 && !fake_is_stopped(vm->pid); i++)
		poll(NULL, 0, 1);
	vm->state = VM_PAUSED;
	vm_events_put(&vm->events, VM_EV_DONE, NULL);
	return 0;
}

static int fake_resume(struct vm *vm, struct err *e)
{
	if (need(vm->state == VM_PAUSED, "resumed", e) < 0)
		return -1;
	vm_signal(vm->pidfd, vm->pid, SIGCONT);
	vm->state = VM_RUNNING;
	vm_events_put(&vm->events, VM_EV_DONE, NULL);
	return 0;
}

static int fake_save(struct vm *vm, const char *path, struct err *e)
{
	if (need(vm->state == VM_RUNNING || vm->state == VM_PAUSED, "saved", e) < 0 ||
	    fs_write_atomic(path, marker, strlen(marker), 0600, e) < 0)
		return -1;
	vm->state = VM_SAVING;
	vm->goal = GOAL_SAVE;
	vm_signal(vm->pidfd, vm->pid, SIGKILL);
	return 0;
}

static int fake_restore(struct vm *vm, const char *path, struct err *e)
{
	auto_buf text = BUF_INIT(sizeof(marker));

	if (need(vm->state == VM_OFF, "restored", e) < 0 || io_read_file(path, &text, e) < 0)
		return -1;
	if (!text.data || strcmp(text.data, marker) != 0)
		return err_set(e, ERR_INVALID, "%s is no machine of the fake driver", path);
	/* The state stays when the machine cannot begin. */
	if (launch(vm, e) < 0)
		return -1;
	if (unlink(path) == 0)
		return 0;
	err_errno(e, "remove %s", path);
	vm_signal(vm->pidfd, vm->pid, SIGKILL);
	return -1;
}

static int fake_powerdown(struct vm *vm, struct err *e)
{
	if (need(vm->state == VM_RUNNING || vm->state == VM_PAUSED, "stopped", e) < 0)
		return -1;
	vm->state = VM_STOPPING;
	vm->goal = GOAL_POWERDOWN;
	vm->deadline = clock_ms() + FAKE_STOP_MS;
	vm_signal(vm->pidfd, vm->pid, SIGTERM);
	vm_signal(vm->pidfd, vm->pid, SIGCONT);
	return 0;
}

static void fake_kill(struct vm *vm)
{
	if (vm->state == VM_OFF)
		return;
	vm->goal = GOAL_KILL;
	vm->state = VM_STOPPING;
	vm->deadline = -1;
	vm_signal(vm->pidfd, vm->pid, SIGKILL);
}

/* --- going on --- */

static enum vm_state fake_state(const struct vm *vm)
{
	return vm->state;
}

static int fake_fd(const struct vm *vm)
{
	return vm->ours ? -1 : vm->pidfd;
}

static short fake_wants(const struct vm *vm)
{
	(void)vm;
	return POLLIN;
}

static int64_t fake_deadline(const struct vm *vm)
{
	return vm->deadline;
}

static bool has_ended(const struct vm *vm)
{
	struct pollfd p = { .fd = vm->pidfd, .events = POLLIN };

	return vm->status_known || (!vm->ours && poll(&p, 1, 0) > 0);
}

/* An agent that ends by itself is a machine that crashed; one that got SIGTERM from elsewhere was powered off. */
static void ended(struct vm *vm)
{
	auto_free char *sock = path_in(vm->plan->dir, PATH_AGENT_SOCK);
	bool cleanly = vm->status_known && vm->status == 0;
	struct err e = { 0 };

	fake_end_guest(vm->net);
	unlink(sock);
	cleanup_closep(&vm->pidfd);
	cleanup_closep(&vm->carrier);
	vm->pidfd = vm->carrier = -1;
	vm->pid = 0;
	vm->deadline = -1;
	vm->state = VM_OFF;
	if (vm->goal == GOAL_POWERDOWN || vm->goal == GOAL_SAVE) {
		vm_events_put(&vm->events, VM_EV_DONE, NULL);
		return;
	}
	if (vm->goal == GOAL_RUN && !cleanly)
		vm_say_exit(&e, "the machine's agent", vm->status_known, vm->status);
	if (vm->goal == GOAL_RUN && cleanly)
		vm_events_put(&vm->events, VM_EV_POWERDOWN, NULL);
	vm_events_put(&vm->events, VM_EV_EXITED, &e);
}

static void fake_step(struct vm *vm, struct vm_event *ev)
{
	struct err e = { 0 };

	if (vm->state != VM_OFF && has_ended(vm)) {
		ended(vm);
	} else if (vm->deadline >= 0 && clock_ms() >= vm->deadline) {
		vm->deadline = -1;
		vm->goal = GOAL_RUN;
		vm->state = VM_RUNNING;
		err_set(&e, ERR_TIMEOUT, "the machine's agent did not end within %d s", FAKE_STOP_MS / 1000);
		vm_events_put(&vm->events, VM_EV_FAILED, &e);
	}
	vm_events_get(&vm->events, ev);
}

static void fake_child_exited(struct vm *vm, pid_t pid, int status)
{
	if (vm->pid != pid || vm->state == VM_OFF)
		return;
	vm->status_known = true;
	vm->status = status;
}

static int fake_carrier(struct vm *vm, struct err *e)
{
	auto_free char *sock = path_in(vm->plan->dir, PATH_AGENT_SOCK);

	if (vm->carrier >= 0)
		return steal_fd(&vm->carrier);
	return vm_connect(sock, e);
}

static pid_t fake_pid(const struct vm *vm)
{
	return vm->pid;
}

static int fake_memory(const struct vm *vm)
{
	return vm_memory_of(vm->pid, FAKE_MEMORY);
}

const struct vm_driver driver_fake = {
	.name = "fake",
	.open = fake_open,
	.release = fake_release,
	.close = fake_close,
	.start = fake_start,
	.adopt = fake_adopt,
	.pause = fake_pause,
	.resume = fake_resume,
	.save = fake_save,
	.restore = fake_restore,
	.powerdown = fake_powerdown,
	.kill = fake_kill,
	.state = fake_state,
	.fd = fake_fd,
	.wants = fake_wants,
	.deadline = fake_deadline,
	.step = fake_step,
	.child_exited = fake_child_exited,
	.carrier = fake_carrier,
	.memory = fake_memory,
	.pid = fake_pid,
};
