/* Operations on files. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "lib/cleanup.h"
#include "limactl-c/sftp/request.h"

enum { STATVFS_RDONLY = 1, STATVFS_NOSUID = 2 };

int sftp_do_close(struct request *q)
{
	struct sftp_in again = q->in;
	struct handle *h = sftp_get_handle(q, false);

	if (!h) {
		q->in = again;
		h = sftp_get_handle(q, true);
	}
	if (!h)
		return EBADF;
	sftp_close_handle(h);
	return 0;
}

int sftp_do_open(struct request *q)
{
	static const int ways[] = { O_RDONLY, O_RDONLY, O_WRONLY, O_RDWR };
	char path[SFTP_PATH_MAX];
	struct sftp_attrs a;
	uint32_t asked;
	int flags, fd;

	sftp_get_text(&q->in, path);
	asked = sftp_get32(&q->in);
	sftp_get_attrs(&q->in, &a);
	if (q->in.bad)
		return EBADMSG;
	if (q->s->readonly && (asked & ~(uint32_t)SFTP_READS))
		return EROFS;
	flags = ways[asked & (SFTP_READS | SFTP_WRITES)] | (asked & SFTP_APPENDS ? O_APPEND : 0) |
		(asked & SFTP_CREATES ? O_CREAT : 0) | (asked & SFTP_TRUNCATES ? O_TRUNC : 0) |
		(asked & SFTP_EXCLUSIVE ? O_EXCL : 0);
	fd = tree_open_file(&q->s->tree, path, flags, a.has & SFTP_HAS_MODE ? a.mode & MODE_MASK : 0644);
	return fd < 0 ? errno : sftp_new_handle(q, (struct handle){ .fd = fd });
}

int sftp_do_read(struct request *q)
{
	struct handle *h = sftp_get_handle(q, false);
	uint64_t from = sftp_get64(&q->in);
	size_t n = sftp_get32(&q->in), at, count_at;
	ssize_t k;
	char *p;

	if (q->in.bad)
		return EBADMSG;
	if (!h)
		return EBADF;
	n = n < SFTP_DATA_MAX ? n : SFTP_DATA_MAX;
	at = sftp_begin_packet(q->out, SFTP_DATA, q->id);
	count_at = q->out->len;
	sftp_put32(q->out, 0);
	p = buf_reserve(q->out, n);
	if (!p)
		abort();
	k = from > INT64_MAX ? 0 : pread(h->fd, p, n, (off_t)from);
	if (k <= 0) {
		int errnum = k < 0 ? errno : ENODATA;

		q->out->len = at;
		return errnum;
	}
	sftp_set32(q->out, count_at, (uint32_t)k);
	buf_commit(q->out, (size_t)k);
	sftp_end_packet(q->out, at);
	return ANSWERED;
}

int sftp_do_write(struct request *q)
{
	struct handle *h = sftp_get_handle(q, false);
	uint64_t from = sftp_get64(&q->in);
	size_t n;
	const uint8_t *p = sftp_get_bytes(&q->in, &n);

	if (q->in.bad)
		return EBADMSG;
	if (!h || from > INT64_MAX)
		return h ? EFBIG : EBADF;
	while (n) {
		ssize_t k = pwrite(h->fd, p, n, (off_t)from);

		if (k < 0 && errno == EINTR)
			continue;
		if (k < 0)
			return errno;
		p += k;
		n -= (size_t)k;
		from += (uint64_t)k;
	}
	return 0;
}

/* --- what a file is --- */

static int look(struct request *q, bool last)
{
	auto_close int fd = -1;
	char path[SFTP_PATH_MAX];
	struct stat st;

	sftp_get_text(&q->in, path);
	if (q->in.bad)
		return EBADMSG;
	fd = tree_find(&q->s->tree, path, last);
	return fd < 0 || fstat(fd, &st) < 0 ? errno : sftp_answer_attrs(q, &st);
}

int sftp_do_lstat(struct request *q)
{
	return look(q, false);
}

int sftp_do_stat(struct request *q)
{
	return look(q, true);
}

int sftp_do_fstat(struct request *q)
{
	struct handle *h = sftp_get_handle(q, false);
	struct stat st;

	if (!h)
		return EBADF;
	return fstat(h->fd, &st) < 0 ? errno : sftp_answer_attrs(q, &st);
}

/* open: fd is a file that was opened, by which its size may be set whatever its mode has become. */
static int change(int fd, bool open, const struct sftp_attrs *a)
{
	const struct timespec times[2] = { { .tv_sec = a->atime }, { .tv_sec = a->mtime } };
	char way[TREE_WAY_MAX];

	tree_way(fd, way);
	if ((a->has & SFTP_HAS_SIZE) && a->size > INT64_MAX)
		return EFBIG;
	if ((a->has & SFTP_HAS_SIZE) && (open ? ftruncate(fd, (off_t)a->size) : truncate(way, (off_t)a->size)) < 0)
		return errno;
	if ((a->has & SFTP_HAS_OWNER) && fchownat(fd, "", a->uid, a->gid, AT_EMPTY_PATH) < 0)
		return errno;
	if ((a->has & SFTP_HAS_MODE) && chmod(way, a->mode & MODE_MASK) < 0)
		return errno;
	return a->has & SFTP_HAS_TIMES ? sftp_result(utimensat(AT_FDCWD, way, times, 0)) : 0;
}

int sftp_do_setstat(struct request *q)
{
	auto_close int fd = -1;
	char path[SFTP_PATH_MAX];
	struct sftp_attrs a;
	struct stat st;

	sftp_get_text(&q->in, path);
	sftp_get_attrs(&q->in, &a);
	if (q->in.bad)
		return EBADMSG;
	fd = tree_find(&q->s->tree, path, true);
	if (fd < 0 || fstat(fd, &st) < 0)
		return errno;
	return (a.has & SFTP_HAS_SIZE) && !S_ISREG(st.st_mode) ? EINVAL : change(fd, false, &a);
}

int sftp_do_fsetstat(struct request *q)
{
	struct handle *h = sftp_get_handle(q, false);
	struct sftp_attrs a;

	sftp_get_attrs(&q->in, &a);
	if (q->in.bad)
		return EBADMSG;
	return h ? change(h->fd, true, &a) : EBADF;
}

int sftp_do_readlink(struct request *q)
{
	auto_close int fd = -1;
	char path[SFTP_PATH_MAX], says[SFTP_PATH_MAX];
	ssize_t n;
	size_t at;

	sftp_get_text(&q->in, path);
	if (q->in.bad)
		return EBADMSG;
	fd = tree_find(&q->s->tree, path, false);
	n = fd < 0 ? -1 : readlinkat(fd, "", says, sizeof(says));
	if (n < 0)
		return errno;
	at = sftp_begin_packet(q->out, SFTP_NAME, q->id);
	sftp_put32(q->out, 1);
	sftp_put_bytes(q->out, says, (size_t)n);
	sftp_put_bytes(q->out, says, (size_t)n);
	sftp_put32(q->out, 0); /* no attributes */
	sftp_end_packet(q->out, at);
	return ANSWERED;
}

int sftp_do_statvfs(struct request *q)
{
	auto_close int fd = -1;
	char path[SFTP_PATH_MAX];
	struct statvfs v;
	size_t at;

	sftp_get_text(&q->in, path);
	if (q->in.bad)
		return EBADMSG;
	fd = tree_find(&q->s->tree, path, true);
	if (fd < 0 || fstatvfs(fd, &v) < 0)
		return errno;
	const uint64_t says[] = {
		v.f_bsize, v.f_frsize, v.f_blocks, v.f_bfree, v.f_bavail, v.f_files, v.f_ffree, v.f_favail, v.f_fsid,
		(q->s->readonly || (v.f_flag & ST_RDONLY) ? STATVFS_RDONLY : 0) | STATVFS_NOSUID, v.f_namemax,
	};

	at = sftp_begin_packet(q->out, SFTP_EXTENDED_REPLY, q->id);
	for (size_t i = 0; i < sizeof(says) / sizeof(*says); i++)
		sftp_put64(q->out, says[i]);
	sftp_end_packet(q->out, at);
	return ANSWERED;
}

int sftp_do_fsync(struct request *q)
{
	struct handle *h = sftp_get_handle(q, false);

	return h ? sftp_result(fsync(h->fd)) : EBADF;
}
