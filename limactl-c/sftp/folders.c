/* Operations on folders and the names in them. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/cleanup.h"
#include "limactl-c/base/mem.h"
#include "limactl-c/sftp/request.h"

enum { NAMES_AT_ONCE = 100 };

int sftp_do_opendir(struct request *q)
{
	char path[SFTP_PATH_MAX];
	DIR *dir;
	int fd;

	sftp_get_text(&q->in, path);
	if (q->in.bad)
		return EBADMSG;
	fd = tree_open(&q->s->tree, path, O_RDONLY | O_DIRECTORY, 0);
	dir = fd < 0 ? NULL : fdopendir(fd);
	if (!dir) {
		int errnum = errno;

		if (fd >= 0)
			close(fd);
		return errnum;
	}
	return sftp_new_handle(q, (struct handle){ .fd = fd, .dir = dir, .path = xstrdup(path) });
}

/* What name in the folder is; of a link that leads out of the whole, or to nothing, the link. */
static int look_in(const struct sftp *s, const struct handle *h, const char *name, struct stat *st)
{
	auto_close int fd = -1;
	auto_free char *path = NULL;

	if (!strcmp(name, ".."))
		name = "."; /* what is above the whole is nobody's business */
	if (fstatat(h->fd, name, st, AT_SYMLINK_NOFOLLOW) < 0)
		return -1;
	if (!s->tree.follow || !S_ISLNK(st->st_mode))
		return 0;
	path = xasprintf("%s/%s", h->path, name);
	fd = tree_find(&s->tree, path, true);
	if (fd >= 0)
		fstat(fd, st);
	return 0;
}

int sftp_do_readdir(struct request *q)
{
	struct handle *h = sftp_get_handle(q, true);
	uint32_t count = 0;
	struct dirent *d;
	size_t at, count_at;

	if (!h)
		return EBADF;
	at = sftp_begin_packet(q->out, SFTP_NAME, q->id);
	count_at = q->out->len;
	sftp_put32(q->out, 0);
	/* What is looked at may be gone, which is no fault of the folder's. */
	while (count < NAMES_AT_ONCE && (errno = 0, d = readdir(h->dir))) {
		struct stat st;

		if (look_in(q->s, h, d->d_name, &st) < 0)
			continue; /* gone meanwhile */
		sftp_put_text(q->out, d->d_name);
		sftp_put_text(q->out, d->d_name);
		sftp_put_attrs(q->out, &st);
		count++;
	}
	if (!count) {
		q->out->len = at;
		return errno ? errno : ENODATA;
	}
	sftp_set32(q->out, count_at, count);
	sftp_end_packet(q->out, at);
	return ANSWERED;
}

static int remove_one(struct request *q, int flags)
{
	auto_close int dir = -1;
	char path[SFTP_PATH_MAX];
	const char *name;

	sftp_get_text(&q->in, path);
	if (q->in.bad)
		return EBADMSG;
	dir = tree_parent(&q->s->tree, path, &name);
	return dir < 0 ? errno : sftp_result(unlinkat(dir, name, flags));
}

int sftp_do_remove(struct request *q)
{
	return remove_one(q, 0);
}

int sftp_do_rmdir(struct request *q)
{
	return remove_one(q, AT_REMOVEDIR);
}

int sftp_do_mkdir(struct request *q)
{
	auto_close int dir = -1;
	char path[SFTP_PATH_MAX];
	struct sftp_attrs a;
	const char *name;

	sftp_get_text(&q->in, path);
	sftp_get_attrs(&q->in, &a);
	if (q->in.bad)
		return EBADMSG;
	dir = tree_parent(&q->s->tree, path, &name);
	return dir < 0 ? errno : sftp_result(mkdirat(dir, name, a.has & SFTP_HAS_MODE ? a.mode & MODE_MASK : 0755));
}

/* Two paths, of which both are names in folders. */
static int on_two(struct request *q, int (*fn)(int from, const char *name, int to, const char *new_name))
{
	auto_close int from = -1, to = -1;
	char path[SFTP_PATH_MAX], new_path[SFTP_PATH_MAX];
	const char *name, *new_name;

	sftp_get_text(&q->in, path);
	sftp_get_text(&q->in, new_path);
	if (q->in.bad)
		return EBADMSG;
	from = tree_parent(&q->s->tree, path, &name);
	to = from < 0 ? -1 : tree_parent(&q->s->tree, new_path, &new_name);
	return to < 0 ? errno : sftp_result(fn(from, name, to, new_name));
}

static int rename_new(int from, const char *name, int to, const char *new_name)
{
	return renameat2(from, name, to, new_name, RENAME_NOREPLACE);
}

static int hard_link(int from, const char *name, int to, const char *new_name)
{
	return linkat(from, name, to, new_name, 0);
}

int sftp_do_rename(struct request *q)
{
	return on_two(q, rename_new);
}

int sftp_do_posix_rename(struct request *q)
{
	return on_two(q, renameat);
}

int sftp_do_hardlink(struct request *q)
{
	return on_two(q, hard_link);
}

/* What it says comes first, as OpenSSH's clients and servers agree on. */
int sftp_do_symlink(struct request *q)
{
	auto_close int dir = -1;
	char says[SFTP_PATH_MAX], path[SFTP_PATH_MAX];
	const char *name;

	sftp_get_text(&q->in, says);
	sftp_get_text(&q->in, path);
	if (q->in.bad)
		return EBADMSG;
	dir = tree_parent(&q->s->tree, path, &name);
	return dir < 0 ? errno : sftp_result(symlinkat(says, dir, name));
}
