#include "limactl-c/base/fs.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "lib/cleanup.h"
#include "lib/io.h"
#include "lib/sock.h"
#include "limactl-c/base/mem.h"

enum { REMOVE_TRIES = 4 };

int fs_mkdir(const char *path, mode_t mode, struct err *e)
{
	struct stat st;

	if (mkdir(path, mode) == 0)
		return 0;
	if (errno != EEXIST)
		return fs_error("create folder", path, e);
	if (stat(path, &st) == 0 && !S_ISDIR(st.st_mode))
		return err_set(e, ERR_EXISTS, "%s is there and is not a folder", path);
	return 0;
}

int fs_mkdirs(const char *path, mode_t mode, struct err *e)
{
	auto_free char *copy = xstrdup(path);

	for (char *p = copy + 1; *copy && *p; p++) {
		if (*p != '/')
			continue;
		*p = '\0';
		if (fs_mkdir(copy, mode, e) < 0)
			return -1;
		*p = '/';
	}
	return fs_mkdir(copy, mode, e);
}

int fs_sync_dir(const char *dir, struct err *e)
{
	auto_close int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return err_errno(e, "open %s", dir);
	/* Some file systems cannot sync a folder; the rename is all there is then. */
	if (fsync(fd) < 0 && errno != EINVAL && errno != ENOTSUP)
		return err_errno(e, "sync %s", dir);
	return 0;
}

char *fs_parent(const char *path)
{
	const char *slash = strrchr(path, '/');

	if (!slash)
		return xstrdup(".");
	return slash == path ? xstrdup("/") : xstrndup(path, (size_t)(slash - path));
}

int fs_sync_parent(const char *path, struct err *e)
{
	auto_free char *dir = fs_parent(path);

	return fs_sync_dir(dir, e);
}

bool fs_is_full(int errnum)
{
	return errnum == ENOSPC || errnum == EDQUOT;
}

int fs_error(const char *doing, const char *path, struct err *e)
{
	int saved = errno;

	if (!fs_is_full(saved))
		return err_errno(e, "%s %s", doing, path);
	err_set(e, ERR_SYS, "no free disk space for %s", path);
	e->errnum = saved;
	return -1;
}

int fs_write_error(const char *path, struct err *e)
{
	return fs_error("cannot write", path, e);
}

int fs_listen_unix(const char *path, mode_t mode, struct err *e)
{
	int fd = sock_listen_unix(path, mode, e);

	if (fd < 0 && fs_is_full(e->errnum)) {
		errno = e->errnum;
		fs_write_error(path, e);
	}
	return fd;
}

int fs_told_full(const char *path, struct err *e)
{
	static const int full[] = { ENOSPC, EDQUOT };

	for (size_t i = 0; i < sizeof(full) / sizeof(*full); i++) {
		if (strstr(e->msg, strerror(full[i]))) {
			errno = full[i];
			return fs_write_error(path, e);
		}
	}
	return -1;
}

int fs_write_atomic(const char *path, const void *p, size_t n, mode_t mode, struct err *e)
{
	auto_free char *end = xasprintf(".%ld" FS_WRITTEN, (long)getpid()), *tmp = xasprintf("%s.XXXXXX%s", path, end);
	auto_close int fd = mkostemps(tmp, (int)strlen(end), O_CLOEXEC);

	if (fd < 0)
		return fs_write_error(tmp, e);
	if (io_write_full(fd, p, n) < 0 || fchmod(fd, mode) < 0 || fsync(fd) < 0 || rename(tmp, path) < 0) {
		fs_write_error(path, e);
		unlink(tmp);
		return -1;
	}
	return fs_sync_parent(path, e);
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	/* Another process may be removing the same tree. */
	return remove(path) < 0 && errno != ENOENT ? -1 : 0;
}

int fs_remove_tree(const char *path, struct err *e)
{
	/* Somebody may have put a file in behind our back. */
	for (int tries = 1; nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS) < 0 && errno != ENOENT; tries++)
		if (errno != ENOTEMPTY || tries == REMOVE_TRIES)
			return err_errno(e, "remove %s", path);
	return 0;
}

char *fs_read_link(const char *path)
{
	char target[PATH_MAX];
	ssize_t n = readlink(path, target, sizeof(target));

	if (n == (ssize_t)sizeof(target)) {
		errno = ENAMETOOLONG;
		n = -1;
	}
	return n < 0 ? NULL : xstrndup(target, (size_t)n);
}

bool fs_exists(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0;
}

void fs_rotate(const char *path, off_t limit)
{
	auto_free char *old = xasprintf("%s.1", path);
	struct stat st;

	if (stat(path, &st) == 0 && st.st_size > limit)
		rename(path, old); /* a log that cannot be moved grows a little more */
}

int fs_open_log(const char *path, struct err *e)
{
	/* To open a pipe nobody reads would wait for a reader. */
	auto_close int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK, 0600);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return fs_error("open", path, e);
	if (!S_ISREG(st.st_mode))
		return err_set(e, ERR_INVALID, "%s is not a regular file", path);
	return steal_fd(&fd);
}

char *fs_tail(const char *path, size_t lines, size_t bytes)
{
	auto_close int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	off_t size = fd < 0 ? 0 : lseek(fd, 0, SEEK_END);
	char *text, *start;
	ssize_t got;
	size_t at;

	if (size <= 0 || lseek(fd, size > (off_t)bytes ? size - (off_t)bytes : 0, SEEK_SET) < 0)
		return xstrdup("");
	text = xmalloc(bytes + 1);
	got = io_read_full(fd, text, bytes);
	at = got < 0 ? 0 : (size_t)got;
	text[at] = '\0';
	while (at && text[at - 1] == '\n')
		text[--at] = '\0';
	start = text + at;
	while (start > text && (start[-1] != '\n' || --lines > 0))
		start--;
	memmove(text, start, strlen(start) + 1);
	return text;
}

int fs_free_space(const char *path, unsigned long long *bytes, struct err *e)
{
	auto_free char *at = xstrdup(path);
	struct statvfs vfs;

	while (statvfs(at, &vfs) < 0) {
		char *up;

		if (errno != ENOENT || !strcmp(at, "/") || !strcmp(at, "."))
			return err_errno(e, "free space of %s", path);
		up = fs_parent(at);
		free(at);
		at = up;
	}
	*bytes = (unsigned long long)vfs.f_bavail * vfs.f_frsize;
	return 0;
}
