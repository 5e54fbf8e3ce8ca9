#include "limactl-c/base/spawn_child.h"

#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#ifdef __linux__
#include <sys/mount.h>
#endif
#include <sys/socket.h>
#include <unistd.h>

#include "lib/io.h"

/* Above every number the program will get, so that no dup2 below hits a descriptor still needed. */
enum { PARKED = 3 + SPAWN_FDS_MAX + 1 };

static _Noreturn void fail(int report, const char *what)
{
	struct spawn_failure f = { .errnum = errno };
	size_t n = strlen(what);

	memcpy(f.what, what, n < sizeof(f.what) ? n : sizeof(f.what) - 1);
	io_write_full(report, &f, sizeof(f));
	_exit(127);
}

static void reset_signals(void)
{
	struct sigaction dfl = { .sa_handler = SIG_DFL };
	sigset_t none;

	for (int i = 1; i < NSIG; i++)
		sigaction(i, &dfl, NULL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

static void close_from(int first)
{
#ifdef __linux__
	if (close_range((unsigned)first, ~0U, 0) == 0)
		return;
#endif
	for (int fd = first, max = getdtablesize(); fd < max; fd++)
		close(fd);
}

int spawn_keep_two(int *a, int *b)
{
	int high_a = fcntl(*a, F_DUPFD_CLOEXEC, 5), high_b = fcntl(*b, F_DUPFD_CLOEXEC, 5);

	*a = dup2(high_a, 3);
	*b = dup2(high_b, 4);
	if (*a < 0 || *b < 0)
		return -1;
	close_from(5);
	return io_set_cloexec(*a, true) < 0 || io_set_cloexec(*b, true) < 0 ? -1 : 0;
}

/* Puts std and fd[] into place; the report pipe becomes the number after them. Returns it. */
static int place(const struct spawn_child *c)
{
	int parked[3 + SPAWN_FDS_MAX];
	size_t n = 3 + c->spawn->fds;
	int report = fcntl(c->report, F_DUPFD_CLOEXEC, PARKED);

	if (report < 0)
		fail(c->report, "descriptors");
	for (size_t i = 0; i < n; i++) {
		int from = i < 3 ? c->std[i] : c->spawn->fd[i - 3];

		parked[i] = fcntl(from, F_DUPFD_CLOEXEC, PARKED);
		if (parked[i] < 0)
			fail(report, "descriptors");
	}
	for (size_t i = 0; i < n; i++) {
		if (dup2(parked[i], (int)i) < 0)
			fail(report, "descriptors");
	}
	if (dup2(report, (int)n) < 0 || fcntl((int)n, F_SETFD, FD_CLOEXEC) < 0)
		fail(report, "descriptors");
	close_from((int)n + 1);
	return (int)n;
}

#ifdef __linux__
/* Best effort: where namespaces are not permitted the program shares the host's network. */
static void enter_own_net(void)
{
	struct ifreq lo = { .ifr_name = "lo" };
	int fd;

	if (unshare(CLONE_NEWNET) < 0)
		return;
	fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return;
	if (ioctl(fd, SIOCGIFFLAGS, &lo) == 0) {
		lo.ifr_flags |= IFF_UP;
		ioctl(fd, SIOCSIFFLAGS, &lo);
	}
	close(fd);
}

/* A namespace of its own, from which nothing comes back to the host's. */
static int make_readonly(const char *path)
{
	struct mount_attr ro = { .attr_set = MOUNT_ATTR_RDONLY };

	if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL) < 0 ||
	    mount(path, path, NULL, MS_BIND | MS_REC, NULL) < 0)
		return -1;
	return mount_setattr(AT_FDCWD, path, AT_RECURSIVE, &ro, sizeof(ro));
}
#else
static void enter_own_net(void)
{
}

static int make_readonly(const char *path)
{
	(void)path;
	errno = ENOSYS;
	return -1;
}
#endif

_Noreturn void spawn_child(const struct spawn_child *c)
{
	int report;

	reset_signals();
	if (c->spawn->fds > SPAWN_FDS_MAX) {
		errno = EINVAL;
		fail(c->report, "descriptors");
	}
	report = place(c);
	if (c->spawn->new_session && setsid() < 0)
		fail(report, "setsid");
	if (c->spawn->new_net)
		enter_own_net();
	if (c->spawn->readonly && make_readonly(c->spawn->readonly) < 0)
		fail(report, "read-only");
	execve(c->program, (char *const *)c->spawn->argv, (char *const *)c->env);
	fail(report, "exec");
}
