/* Ending what holds an instance's locks, when it can no longer be asked. */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#ifdef __APPLE__
#include <libproc.h>
#endif

#include "lib/cleanup.h"
#include "lib/buf.h"
#include "lib/io.h"
#include "limactl-c/base/mem.h"
#include "limactl-c/store/inst.h"
#include "limactl-c/store/paths.h"

enum { KILL_TRIES = 250, KILL_AFTER = 150 /* of these tries, 20 ms apart */ };

#ifdef __APPLE__
static pid_t lock_holder(const char *path)
{
	pid_t pid[16];
	int n = proc_listpidspath(PROC_ALL_PIDS, 0, path, 0, pid, sizeof(pid));

	for (int i = 0; i < n / (int)sizeof(*pid); i++)
		if (pid[i] != getpid())
			return pid[i];
	return 0;
}
#else
/* Whether descriptor fd of process pid is this file with an exclusive flock on it. Others have the file open for the
 * blink of a look. */
static bool holds(const char *pid, const char *fd, const struct stat *lock)
{
	char path[64];
	auto_buf info = BUF_INIT(16384);
	struct err ignored = { 0 };
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%.16s/fd/%.16s", pid, fd);
	if (stat(path, &st) < 0 || st.st_ino != lock->st_ino || st.st_dev != lock->st_dev)
		return false;
	snprintf(path, sizeof(path), "/proc/%.16s/fdinfo/%.16s", pid, fd);
	return io_read_file(path, &info, &ignored) == 0 && info.data && strstr(info.data, "FLOCK") &&
	       strstr(info.data, "WRITE");
}

static bool process_holds(const char *pid, const struct stat *lock)
{
	char path[64];
	auto_closedir DIR *d = NULL;
	struct dirent *de;

	snprintf(path, sizeof(path), "/proc/%.16s/fd", pid);
	d = opendir(path);
	while (d && (de = readdir(d)))
		if (isdigit((unsigned char)de->d_name[0]) && holds(pid, de->d_name, lock))
			return true;
	return false;
}

/* A living process that holds the lock file at path, 0 when there is none that we may see. The pid is looked up from
 * the lock, so it is the holder's, unlike one read from a file. */
static pid_t lock_holder(const char *path)
{
	auto_closedir DIR *d = opendir("/proc");
	struct dirent *de;
	struct stat lock;

	if (!d || stat(path, &lock) < 0)
		return 0;
	while ((de = readdir(d))) {
		pid_t pid = (pid_t)atol(de->d_name);

		if (pid > 0 && pid != getpid() && process_holds(de->d_name, &lock))
			return pid;
	}
	return 0;
}
#endif

int inst_kill(const struct inst *i, struct err *e)
{
	for (int n = 0; n < KILL_TRIES; n++) {
		enum inst_status st = inst_status(i);
		auto_free char *path = path_in(i->dir, st == INST_RUNNING ? PATH_HA_LOCK : PATH_VM_LOCK);
		pid_t pid;

		/* The lock is asked, not the list of processes: of one whose first thread has ended no files are seen. */
		if (st != INST_RUNNING && st != INST_ORPHAN)
			return 0;
		pid = lock_holder(path);
		/* The host agent at once: asked, it would go on with the machine for minutes. QEMU first politely: it then
		 * closes its disk in order. */
		if (pid)
			kill(pid, st == INST_ORPHAN && n < KILL_AFTER ? SIGTERM : SIGKILL);
		nanosleep(&(struct timespec){ .tv_nsec = 20000000 }, NULL);
	}
	return err_set(e, ERR_TIMEOUT, "processes of instance \"%s\" do not end", i->name);
}
