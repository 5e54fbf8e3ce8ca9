#include "limactl-c/store/lock.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "lib/cleanup.h"
#include "limactl-c/base/fs.h"

enum {
	/* A look at a lock holds it for microseconds; who wants it for good tries this often. */
	LOCK_TRIES = 50,
	LOCK_PAUSE_NS = 2 * 1000 * 1000,
};

/* Opens a lock file and tries once; -1 with errno EWOULDBLOCK when another process holds it, or has held it and taken
 * the folder away: that lock is nobody's any more. */
static int try_lock(const char *path, int flags, int operation)
{
	struct stat ours, there;
	auto_close int fd = open(path, flags | O_CLOEXEC | O_NONBLOCK, 0600); /* no wait should it be a pipe */

	if (fd < 0 || flock(fd, operation | LOCK_NB) < 0 || fstat(fd, &ours) < 0 || stat(path, &there) < 0)
		return -1;
	if (ours.st_ino != there.st_ino || ours.st_dev != there.st_dev) {
		errno = EWOULDBLOCK;
		return -1;
	}
	return steal_fd(&fd);
}

static int lock(const char *path, int operation, struct err *e)
{
	for (int n = 0; n < LOCK_TRIES; n++) {
		int fd = try_lock(path, O_RDWR | O_CREAT, operation);

		if (fd >= 0)
			return fd;
		if (errno != EWOULDBLOCK)
			return fs_error("lock", path, e);
		nanosleep(&(struct timespec){ .tv_nsec = LOCK_PAUSE_NS }, NULL);
	}
	return err_set(e, ERR_EXISTS, "%s is held by another process", path);
}

int lock_take(const char *path, struct err *e)
{
	return lock(path, LOCK_EX, e);
}

int lock_share(const char *path, struct err *e)
{
	return lock(path, LOCK_SH, e);
}

int lock_wait(int fd, int operation)
{
	int rc;

	do {
		rc = flock(fd, operation);
	} while (rc < 0 && errno == EINTR);
	return rc;
}

bool lock_is_held(const char *path)
{
	/* Shared, so that two who look do not take each other for the owner. */
	auto_close int fd = try_lock(path, O_RDONLY, LOCK_SH);

	return fd < 0 && errno == EWOULDBLOCK;
}
