#include "limactl-c/base/copy.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#ifdef __linux__
#include <linux/fs.h>
#include <sys/ioctl.h>
#endif

#include "lib/cleanup.h"
#include "lib/io.h"
#include "limactl-c/base/fs.h"
#include "limactl-c/base/mem.h"

enum { CHUNK = 1 << 20, DEPTH_MAX = 32 };

bool copy_share_blocks(int from, int to)
{
#ifdef FICLONE
	return ioctl(to, FICLONE, from) == 0;
#else
	(void)from;
	(void)to;
	return false;
#endif
}

/* Where the next data lies: from *start to *end. 0: none before the file's end, -1 with errno. */
static int next_data(int fd, off_t at, off_t size, off_t *start, off_t *end)
{
	*start = lseek(fd, at, SEEK_DATA);
	if (*start < 0 && errno == ENXIO)
		return 0;
	/* A file system that knows nothing of holes. */
	if (*start < 0 && errno == EINVAL) {
		*start = at;
		*end = size;
		return at < size;
	}
	if (*start < 0 || (*end = lseek(fd, *start, SEEK_HOLE)) < 0)
		return -1;
	return 1;
}

static int copy_range(int from, int to, off_t at, off_t end, char *chunk)
{
	while (at < end) {
		size_t want = end - at < CHUNK ? (size_t)(end - at) : CHUNK;
		ssize_t n = pread(from, chunk, want, at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) /* shorter than it was: what is missing reads as zeros */
			return n < 0 ? -1 : 0;
		if (lseek(to, at, SEEK_SET) < 0 || io_write_full(to, chunk, (size_t)n) < 0)
			return -1;
		at += n;
	}
	return 0;
}

static int copy_data(int from, int to, off_t size)
{
	auto_free char *chunk = xmalloc(CHUNK);
	off_t start, end = 0;
	int rc;

	while ((rc = next_data(from, end, size, &start, &end)) > 0)
		if (copy_range(from, to, start, end, chunk) < 0)
			return -1;
	return rc < 0 ? -1 : ftruncate(to, size);
}

int copy_file(const char *from, const char *to, struct err *e)
{
	auto_close int in = open(from, O_RDONLY | O_CLOEXEC | O_NONBLOCK), out = -1;
	struct stat st;

	if (in < 0 || fstat(in, &st) < 0)
		return err_errno(e, "open %s", from);
	out = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (out < 0)
		return fs_write_error(to, e);
	if ((!copy_share_blocks(in, out) && copy_data(in, out, st.st_size) < 0) || fchmod(out, st.st_mode & 07777) < 0 ||
	    fsync(out) < 0) {
		fs_write_error(to, e);
		return err_wrap(e, "copy %s", from);
	}
	return 0;
}

static int copy_link(const char *from, const char *to, struct err *e)
{
	auto_free char *target = fs_read_link(from);

	if (!target)
		return err_errno(e, "read link %s", from);
	return symlink(target, to) < 0 ? fs_error("create", to, e) : 0;
}

static int copy_folder(const char *from, const char *to, enum copy_what (*what)(const char *name), int depth,
		       struct err *e);

static int copy_one(const char *from, const char *to, enum copy_what what, int depth,
		    enum copy_what (*ask)(const char *name), struct err *e)
{
	struct stat st;

	if (lstat(from, &st) < 0)
		return err_errno(e, "%s", from);
	if (S_ISDIR(st.st_mode)) {
		if (mkdir(to, 0700) < 0)
			return fs_error("create folder", to, e);
		if (copy_folder(from, to, ask, depth + 1, e) < 0)
			return -1;
		return chmod(to, st.st_mode & 07777) < 0 ? err_errno(e, "%s", to) : 0;
	}
	if (S_ISLNK(st.st_mode))
		return copy_link(from, to, e);
	if (!S_ISREG(st.st_mode))
		return 0;
	return what == COPY_EMPTY ? fs_write_atomic(to, "", 0, st.st_mode & 07777, e) : copy_file(from, to, e);
}

static int copy_folder(const char *from, const char *to, enum copy_what (*what)(const char *name), int depth,
		       struct err *e)
{
	auto_closedir DIR *d = opendir(from);
	struct dirent *de;

	if (!d)
		return err_errno(e, "open %s", from);
	if (depth > DEPTH_MAX)
		return err_set(e, ERR_INVALID, "%s: more than %d folders deep", from, DEPTH_MAX);
	while ((de = readdir(d))) {
		auto_free char *old = xasprintf("%s/%s", from, de->d_name), *new = xasprintf("%s/%s", to, de->d_name);
		enum copy_what one = what ? what(de->d_name) : COPY_ALL;

		if (!strcmp(de->d_name, ".") || !strcmp(de->d_name, "..") || one == COPY_SKIP)
			continue;
		if (copy_one(old, new, one, depth, what, e) < 0)
			return -1;
	}
	return 0;
}

int copy_tree(const char *from, const char *to, enum copy_what (*what)(const char *name), struct err *e)
{
	return copy_folder(from, to, what, 0, e);
}
