#include "lib/file_part.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/cleanup.h"
#include "lib/file_hash.h"
#include "lib/io.h"
#include "lib/mux_wire.h"

enum { OPEN_PART = O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY };

static int failed(struct err *e)
{
	err_set(e, ERR_SYS, "%s", strerror(errno));
	e->errnum = errno;
	return -1;
}

/* One a name, so that at most one is left and the next copy finds it. */
static void name_part(char *text, size_t size, const char *name)
{
	snprintf(text, size, ".limactl-c-%016llx.part", (unsigned long long)wire_hash(0, (const uint8_t *)name, strlen(name)));
}

/* Ours, a plain file, and with no other name it could have been given. */
static bool is_ours(const struct stat *st)
{
	return S_ISREG(st->st_mode) && st->st_uid == geteuid() && st->st_nlink == 1;
}

/* Held against another copy of the same name; 0: the other holds it, -1: it has renamed or removed it meanwhile. */
static int hold(const struct file_part *p, int fd, struct stat *st)
{
	struct stat now;

	if (flock(fd, LOCK_EX | LOCK_NB) < 0)
		return 0;
	return fstat(fd, st) == 0 && fstatat(p->dir, p->name, &now, AT_SYMLINK_NOFOLLOW) == 0 && st->st_ino == now.st_ino &&
			       st->st_dev == now.st_dev ? 1 : -1;
}

/* What an earlier copy left, held; -1 when there is none, or another copy has it. */
static int open_left(const struct file_part *p, struct stat *st)
{
	auto_close int fd = openat(p->dir, p->name, OPEN_PART);

	return fd >= 0 && fstat(fd, st) == 0 && is_ours(st) && hold(p, fd, st) > 0 ? steal_fd(&fd) : -1;
}

static int open_same(const struct file_part *p, struct stat *st)
{
	auto_close int fd = openat(p->dir, p->v.name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);

	if (fd < 0 || fstat(fd, st) < 0 || !S_ISREG(st->st_mode) || (uint64_t)st->st_size != p->v.size ||
	    FILE_MTIME(st).tv_sec != p->v.mtime || FILE_MTIME(st).tv_nsec != (long)p->v.mtime_ns)
		return -1;
	return steal_fd(&fd);
}

int file_part_offer(struct file_part *p, int dir, const struct fp_entry *v, uint64_t *hash, struct err *e)
{
	auto_close int fd = -1;
	struct stat st;

	*p = (struct file_part){ .dir = dir, .v = *v, .fd = -1, .left = -1 };
	*hash = 0;
	name_part(p->name, sizeof(p->name), v->name);
	fd = v->ask ? open_same(p, &st) : -1;
	p->same = fd >= 0;
	if (v->ask && fd < 0)
		fd = open_left(p, &st);
	if (fd < 0 || (uint64_t)st.st_size > v->size)
		return 0;
	p->offer = (uint64_t)st.st_size;
	if (file_hash(fd, st.st_size, hash) < 0)
		return failed(e);
	/* Nobody else may write to it until the answer comes. */
	p->left = p->same ? -1 : steal_fd(&fd);
	return 0;
}

/* Made anew, or what an earlier copy left. */
static int open_held(const struct file_part *p, struct err *e)
{
	for (int tries = 0; tries < 3; tries++) {
		auto_close int fd = openat(p->dir, p->name, OPEN_PART | O_CREAT | O_EXCL, 0600);
		struct stat st;
		int held;

		if (fd < 0 && errno != EEXIST)
			return failed(e);
		if (fd < 0)
			fd = openat(p->dir, p->name, OPEN_PART);
		if (fd < 0 && errno == ENOENT)
			continue;
		if (fd < 0 || fstat(fd, &st) < 0 || !is_ours(&st)) {
			if (unlinkat(p->dir, p->name, 0) < 0 && errno != ENOENT)
				return failed(e);
			continue;
		}
		held = hold(p, fd, &st);
		if (held > 0)
			return steal_fd(&fd);
		if (held == 0)
			break;
	}
	return err_set(e, ERR_STATE, "another copy is just writing it");
}

int file_part_begin(struct file_part *p, uint64_t from, struct err *e)
{
	struct stat st;

	p->at = from;
	p->same = p->same && from == p->v.size;
	if (p->same)
		return 0;
	p->fd = p->left >= 0 ? steal_fd(&p->left) : open_held(p, e);
	if (p->fd < 0)
		return -1;
	if (fstat(p->fd, &st) == 0 && (uint64_t)st.st_size < from)
		return err_set(e, ERR_STATE, "it was changed meanwhile");
	if (ftruncate(p->fd, (off_t)from) < 0 ||
	    lseek(p->fd, (off_t)from, SEEK_SET) < 0)
		return failed(e);
	return 0;
}

int file_part_write(struct file_part *p, const void *bytes, size_t n, struct err *e)
{
	if (p->fd < 0)
		return err_set(e, ERR_INVALID, "there is more of it than there was");
	if (io_write_full(p->fd, bytes, n) < 0)
		return failed(e);
	p->at += n;
	return 0;
}

int file_part_hole(struct file_part *p, uint64_t n, struct err *e)
{
	if (p->fd < 0 || n > FP_SIZE_MAX - p->at)
		return err_set(e, ERR_INVALID, "there is more of it than a file can have");
	p->at += n;
	return lseek(p->fd, (off_t)p->at, SEEK_SET) < 0 ? failed(e) : 0;
}

static void fill_times(const struct fp_entry *v, struct timespec t[2])
{
	t[0] = (struct timespec){ .tv_nsec = UTIME_OMIT };
	t[1] = (struct timespec){ .tv_sec = (time_t)v->mtime, .tv_nsec = (long)v->mtime_ns };
}

/* The file in place has all bytes and its time already. */
static int finish_same(struct file_part *p, uint32_t mode, struct err *e)
{
	struct stat st;
	auto_close int fd = open_same(p, &st);

	if (fd < 0)
		return err_set(e, ERR_STATE, "it was changed meanwhile");
	if ((st.st_mode & FP_MODE) != mode && fchmod(fd, mode) < 0)
		return failed(e);
	return 0;
}

int file_part_finish(struct file_part *p, uint64_t size, uint32_t mode, struct err *e)
{
	struct timespec t[2];
	int fd = p->fd;

	if (p->at != size)
		return err_set(e, ERR_INVALID, "it did not come whole");
	if (p->same)
		return finish_same(p, mode, e);
	fill_times(&p->v, t);
	if (ftruncate(fd, (off_t)size) < 0 || fchmod(fd, mode) < 0 || futimens(fd, t) < 0 ||
	    renameat(p->dir, p->name, p->dir, p->v.name) < 0)
		return failed(e);
	p->fd = -1;
	return close(fd) < 0 ? failed(e) : 0;
}

void file_part_drop(struct file_part *p, bool keep)
{
	if (p->left >= 0)
		close(steal_fd(&p->left));
	if (p->fd < 0)
		return;
	if (!keep)
		unlinkat(p->dir, p->name, 0);
	close(steal_fd(&p->fd));
}

int file_part_link(int dir, const struct fp_entry *v, struct err *e)
{
	struct timespec t[2];
	char name[40];

	name_part(name, sizeof(name), v->name);
	if ((unlinkat(dir, name, 0) < 0 && errno != ENOENT) || symlinkat(v->link, dir, name) < 0)
		return failed(e);
	fill_times(v, t);
	if (utimensat(dir, name, t, AT_SYMLINK_NOFOLLOW) == 0 && renameat(dir, name, dir, v->name) == 0)
		return 0;
	failed(e);
	unlinkat(dir, name, 0);
	return -1;
}
