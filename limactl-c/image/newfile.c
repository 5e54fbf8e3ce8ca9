#include "limactl-c/image/newfile.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "limactl-c/base/fs.h"
#include "limactl-c/base/mem.h"
#include "limactl-c/store/lock.h"

/* Temporary files now open, for the signal handler. A command has at most two. */
static const char *volatile open_tmp[4];

enum { OPEN_MAX_TMP = sizeof(open_tmp) / sizeof(open_tmp[0]) };

static void replace_open(const char *from, const char *to)
{
	for (size_t i = 0; i < OPEN_MAX_TMP; i++) {
		if (open_tmp[i] == from) {
			open_tmp[i] = to;
			return;
		}
	}
}

static void on_signal(int sig)
{
	for (size_t i = 0; i < OPEN_MAX_TMP; i++) {
		if (open_tmp[i])
			unlink(open_tmp[i]);
	}
	signal(sig, SIG_DFL);
	raise(sig);
}

void newfile_clean_on_signals(void)
{
	static const int sigs[] = { SIGINT, SIGTERM, SIGHUP };
	struct sigaction old, sa = { .sa_handler = on_signal };

	for (size_t i = 0; i < sizeof(sigs) / sizeof(sigs[0]); i++) {
		if (sigaction(sigs[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN)
			sigaction(sigs[i], &sa, NULL);
	}
}

/* False when the file at path is no longer the one behind fd: its writer renamed or removed it while we waited. */
static bool still_named(int fd, const char *path)
{
	struct stat a, b;

	return fstat(fd, &a) == 0 && lstat(path, &b) == 0 && a.st_ino == b.st_ino && a.st_dev == b.st_dev;
}

/* Opened and locked, whatever it holds. */
static int open_locked(struct newfile *f, const char *tmp, struct err *e)
{
	for (;;) {
		auto_close int fd = open(tmp, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);

		if (fd < 0)
			return fs_write_error(tmp, e);
		if (lock_wait(fd, LOCK_EX) < 0)
			return err_errno(e, "cannot lock %s", tmp);
		if (!still_named(fd, tmp))
			continue;
		f->fd = steal_fd(&fd);
		f->tmp = xstrdup(tmp);
		return 0;
	}
}

int newfile_open_tmp(struct newfile *f, const char *tmp, struct err *e)
{
	if (open_locked(f, tmp, e) < 0)
		return -1;
	replace_open(NULL, f->tmp);
	return ftruncate(f->fd, 0) < 0 ? fs_write_error(tmp, e) : 0;
}

int newfile_open_kept(struct newfile *f, const char *tmp, struct err *e)
{
	f->kept = true;
	return open_locked(f, tmp, e);
}

int newfile_open(struct newfile *f, const char *path, struct err *e)
{
	auto_free char *tmp = xasprintf("%s.tmp", path);

	return newfile_open_tmp(f, tmp, e);
}

int newfile_commit(struct newfile *f, const char *path, mode_t mode, bool sync, struct err *e)
{
	if (fchmod(f->fd, mode) < 0)
		return err_errno(e, "cannot set the mode of %s", f->tmp);
	if (sync && fsync(f->fd) < 0)
		return fs_write_error(f->tmp, e);
	if (rename(f->tmp, path) < 0)
		return fs_write_error(path, e);
	replace_open(f->tmp, NULL);
	free(steal(&f->tmp));
	close(steal_fd(&f->fd));
	return sync ? fs_sync_parent(path, e) : 0; /* the name lasts when that is done */
}

void newfile_fini(struct newfile *f)
{
	if (f->tmp) {
		if (!f->kept)
			unlink(f->tmp);
		replace_open(f->tmp, NULL);
		free(steal(&f->tmp));
	}
	if (f->fd >= 0)
		close(steal_fd(&f->fd));
}

void newfile_sweep(const char *dir)
{
	auto_closedir DIR *d = opendir(dir);
	struct dirent *ent;

	if (!d)
		return;
	while ((ent = readdir(d))) {
		auto_close int fd = openat(dirfd(d), ent->d_name, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
		struct stat st;

		if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && flock(fd, LOCK_EX | LOCK_NB) == 0)
			unlinkat(dirfd(d), ent->d_name, 0);
	}
}
