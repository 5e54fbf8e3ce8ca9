#include "limactl-c/driver/common.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/cleanup.h"
#include "lib/sock.h"

#ifdef __linux__
#include <sys/pidfd.h>
#endif

void vm_events_put(struct vm_events *q, enum vm_event_type type, const struct err *error)
{
	struct vm_event *ev = &q->item[(q->first + q->count) % VM_EVENTS_MAX];

	if (q->count == VM_EVENTS_MAX)
		return;
	q->count++;
	*ev = (struct vm_event){ .type = type };
	if (error)
		ev->error = *error;
}

bool vm_events_get(struct vm_events *q, struct vm_event *out)
{
	if (!q->count) {
		out->type = VM_EV_NONE;
		return false;
	}
	*out = q->item[q->first];
	q->first = (q->first + 1) % VM_EVENTS_MAX;
	q->count--;
	return true;
}

#ifdef __linux__
int vm_pidfd(pid_t pid)
{
	return pid > 0 ? pidfd_open(pid, 0) : -1;
}

void vm_signal(int pidfd, pid_t pid, int sig)
{
	(void)pid;
	if (pidfd >= 0)
		pidfd_send_signal(pidfd, sig, NULL, 0);
}
#else
int vm_pidfd(pid_t pid)
{
	(void)pid;
	return -1;
}

void vm_signal(int pidfd, pid_t pid, int sig)
{
	(void)pidfd;
	if (pid > 0)
		kill(pid, sig);
}
#endif

#ifdef __linux__
/* A guest that has taken QEMU over could shrink what is not sealed, and who touches it then gets SIGBUS. */
static int open_memory(const char *path, uint64_t size)
{
	auto_close int fd = open(path, O_RDWR | O_CLOEXEC);
	struct stat st;
	int seals;

	if (fd < 0 || fstat(fd, &st) < 0 || (uint64_t)st.st_size != size)
		return -1;
	seals = fcntl(fd, F_GET_SEALS);
	return seals >= 0 && seals & F_SEAL_SHRINK ? steal_fd(&fd) : -1;
}

int vm_memory_of(pid_t pid, uint64_t size)
{
	static const char begins[] = "/memfd:";
	char dir[40], path[300], target[sizeof(begins)];
	auto_closedir DIR *d = NULL;
	struct dirent *entry;
	int fd = -1;

	snprintf(dir, sizeof(dir), "/proc/%d/fd", (int)pid);
	d = size ? opendir(dir) : NULL;
	while (d && fd < 0 && (entry = readdir(d))) {
		snprintf(path, sizeof(path), "%s/%s", dir, entry->d_name);
		if (readlink(path, target, sizeof(target) - 1) == sizeof(begins) - 1 &&
		    !memcmp(target, begins, sizeof(begins) - 1))
			fd = open_memory(path, size);
	}
	return fd;
}
#else
int vm_memory_of(pid_t pid, uint64_t size)
{
	(void)pid;
	(void)size;
	return -1;
}
#endif

pid_t vm_peer(int fd)
{
#ifdef __linux__
	struct ucred c;
	socklen_t len = sizeof(c);

	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &c, &len) < 0 ? -1 : c.pid;
#else
	pid_t pid = -1;
	socklen_t len = sizeof(pid);

	return getsockopt(fd, SOL_LOCAL, LOCAL_PEERPID, &pid, &len) < 0 ? -1 : pid;
#endif
}

void vm_args_free(char **argv)
{
	for (char **p = argv; p && *p; p++)
		free(*p);
	free(argv);
}

int vm_connect(const char *path, struct err *e)
{
	struct sockaddr_un sa;
	bool pending;
	int fd;

	if (sock_unix_addr(path, &sa, e) < 0)
		return -1;
	fd = sock_start_connect((struct sockaddr *)&sa, sizeof(sa), &pending, e);
	return fd < 0 ? err_wrap(e, "%s", path) : fd;
}

void vm_say_exit(struct err *e, const char *program, bool known, int status)
{
	if (!known)
		err_set(e, ERR_STATE, "%s has ended", program);
	else if (WIFSIGNALED(status))
		err_set(e, ERR_STATE, "%s was killed by signal %d (%s)", program, WTERMSIG(status),
			strsignal(WTERMSIG(status)));
	else
		err_set(e, ERR_STATE, "%s has ended with exit code %d", program, WEXITSTATUS(status));
}
