/* shutdown.c - `agent shutdown`: init's shutdown action. Stops the engine in order, then everything else, gives free
 * blocks back and leaves every file system clean. Every wait has an end. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <dirent.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "guestagent/mount_table.h"
#include "guestagent/service.h"
#include "guestagent/setup.h"
#include "guestagent/setup_util.h"
#include "guestagent/trim.h"
#include "lib/cleanup.h"
#include "lib/clock.h"
#include "lib/log.h"

/* Stopped in this order. dockerd gives containers 15 seconds of its own before it kills them. */
static const struct {
	const char *name;
	int wait_ms;
} engine[] = {
	{ "dockerd", 30000 },
	{ "containerd", 5000 },
};

enum { TERM_WAIT_MS = 2000, KILL_WAIT_MS = 1000, STEP_MS = 20, MOUNTS_MAX = 512 };

static void stop_service(const char *name, int wait_ms)
{
	pid_t pid = service_pid(name);
	struct pollfd p = { .events = POLLIN };

	if (!pid || !service_is(pid, name))
		return;
	p.fd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (p.fd < 0 || kill(pid, SIGTERM) < 0)
		return;
	if (poll(&p, 1, wait_ms) == 0)
		log_warn("%s did not stop within %d s", name, wait_ms / 1000);
	close(p.fd);
}

/* Processes besides init, ourselves and the kernel's own (which have no command line). */
static bool others_run(void)
{
	auto_closedir DIR *dir = opendir("/proc");
	struct dirent *d;
	bool found = false;

	while (dir && !found && (d = readdir(dir))) {
		char path[300];
		FILE *f;
		long pid = strtol(d->d_name, NULL, 10);

		if (pid < 2 || pid == getpid())
			continue;
		snprintf(path, sizeof(path), "/proc/%ld/cmdline", pid);
		f = fopen(path, "re");
		found = f && fgetc(f) != EOF;
		if (f)
			fclose(f);
	}
	return found;
}

static void kill_others(int signal, int wait_ms)
{
	int64_t end = clock_ms() + wait_ms;

	kill(-1, signal); /* all but init and us */
	while (others_run() && clock_ms() < end)
		usleep(STEP_MS * 1000);
}

/* Whether a file system has something to lose: not the root (made read-only later, with every bind mount of it), not
 * what is read-only or lives in memory. Each needless unmount would wait for the kernel. */
static bool must_unmount(const struct mount_entry *m, const char *root_device)
{
	static const char *const volatile_types[] = { "proc", "sysfs", "devtmpfs", "devpts", "tmpfs", "cgroup2", "cgroup",
						      "tracefs", "debugfs", "securityfs", "bpf", "mqueue", "nsfs",
						      "rootfs", "ramfs", "binfmt_misc", "hugetlbfs" };

	for (size_t i = 0; i < sizeof(volatile_types) / sizeof(volatile_types[0]); i++)
		if (strcmp(m->type, volatile_types[i]) == 0)
			return false;
	return !mount_is_read_only(m) && strcmp(m->source, root_device) != 0;
}

/* Newest first; what is busy stays, its journal does not lose by it. */
static void unmount_all(void)
{
	char *targets[MOUNTS_MAX], root_device[256] = "";
	auto_mount_table t = mount_table_open(MOUNT_TABLE);
	struct mount_entry m;
	size_t n = 0;

	while (n < MOUNTS_MAX && mount_table_next(&t, &m)) {
		if (strcmp(m.path, "/") == 0)
			snprintf(root_device, sizeof(root_device), "%s", m.source);
		else if (must_unmount(&m, root_device) && (targets[n] = strdup(m.path)))
			n++;
	}
	while (n-- > 0) {
		umount2(targets[n], 0);
		free(targets[n]);
	}
}

static bool wants_fstrim(void)
{
	static struct settings s;
	auto_buf text = BUF_INIT(SETTINGS_SIZE_MAX);
	struct err e;

	return settings_load(&s, RUN_DIR "/settings", &text, &e) == 0 && settings_true(&s, "tuning.fstrimStop");
}

int shutdown_main(int argc, char **argv)
{
	bool power_off = access(RUN_DIR "/power-off", F_OK) == 0;
	uint64_t trimmed;

	(void)argc;
	(void)argv;
	log_init("lima-guestagent", STDERR_FILENO, LOG_TEXT, LOG_INFO_);
	for (size_t i = 0; i < sizeof(engine) / sizeof(engine[0]); i++)
		stop_service(engine[i].name, engine[i].wait_ms);
	kill_others(SIGTERM, TERM_WAIT_MS);
	if (others_run())
		kill_others(SIGKILL, KILL_WAIT_MS);
	sync();
	/* What was freed since the last commit of the journal is not known to be free before this one. */
	if (wants_fstrim())
		trim_disks(&trimmed);
	unmount_all();
	if (mount(NULL, "/", NULL, MS_REMOUNT | MS_RDONLY, NULL) < 0)
		log_warn("the root stays writable: %s", strerror(errno));
	sync();
	/* Anything else (reboot, halt) is what init was asked for, and init's to do. */
	if (power_off)
		reboot(RB_POWER_OFF);
	return 0;
}
