#include "lib/file_receive.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/cleanup.h"
#include "lib/file_part.h"
#include "lib/le.h"

enum { OPEN_FOLDER = O_RDONLY | O_DIRECTORY | O_CLOEXEC, PATH_SHOWN = 300 };

/* A folder that is being filled. */
struct level {
	int fd;
	bool plain; /* the target itself: its mode and time stay */
	uint32_t mode;
	struct timespec mtime;
	size_t path; /* length of the path up to it */
};

struct receiver {
	const struct file_receive *want;
	struct level *level; /* FP_DEPTH_MAX + 1; [0] is where the named things go */
	size_t depth;
	size_t skip;    /* folders entered in one that could not be made */
	char *rename;   /* what the one thing is to be called; NULL: the target is a folder */
	bool only_folder; /* the target ends with a slash and is not there */
	bool used;      /* the one thing came */
	struct file_part part;
	bool in_file, wanted; /* between FILE and DONE; it is being written */
	bool ended;
	char path[PATH_SHOWN]; /* of the entry, for messages; cut when it is longer */
};

static void problem(const struct receiver *r, const char *why)
{
	char text[FP_TEXT_MAX];

	snprintf(text, sizeof(text), "%s: %s", r->path, why);
	r->want->watch->problem(r->want->watch->ctx, text, false);
}

static struct level *top(struct receiver *r)
{
	return &r->level[r->depth];
}

static void set_path(struct receiver *r, const char *name)
{
	size_t n = top(r)->path;

	snprintf(r->path + n, sizeof(r->path) - n, "%s%s", n && *name && r->path[n - 1] != '/' ? "/" : "", name);
}

/* --- the target --- */

static int open_base(struct receiver *r, const char *path, struct err *e)
{
	r->level[0].fd = open(path, OPEN_FOLDER);
	r->level[0].plain = true;
	if (r->level[0].fd < 0)
		return err_set(e, errno == ENOENT ? ERR_NOTFOUND : ERR_SYS, "%s: %s", path, strerror(errno));
	snprintf(r->path, sizeof(r->path), "%s", path);
	r->level[0].path = strlen(r->path);
	return 0;
}

/* path, which gets cut, is the place of the one thing. */
static int open_place(struct receiver *r, char *path, struct err *e)
{
	size_t n = strlen(path);
	char *slash;

	while (n > 1 && path[n - 1] == '/')
		path[--n] = '\0';
	slash = strrchr(path, '/');
	r->rename = strdup(slash ? slash + 1 : path);
	if (!r->rename)
		return err_set(e, ERR_SYS, "not enough memory");
	if (!fp_is_name(r->rename))
		return err_set(e, ERR_USAGE, "%s: there is no such folder", path);
	if (!slash)
		return open_base(r, ".", e);
	slash[slash == path ? 1 : 0] = '\0';
	return open_base(r, path, e);
}

static int open_target(struct receiver *r, struct err *e)
{
	const char *target = r->want->target;
	auto_free char *path = NULL;
	size_t n = strlen(target);
	struct stat st;

	if (!n)
		return open_base(r, ".", e);
	if (stat(target, &st) == 0 && S_ISDIR(st.st_mode))
		return open_base(r, target, e);
	if (r->want->folder)
		return err_set(e, ERR_USAGE, "%s is no folder: several things can be copied into a folder only", target);
	if (stat(target, &st) == 0 && !S_ISREG(st.st_mode))
		return err_set(e, ERR_USAGE, "%s is neither file nor folder", target);
	r->only_folder = target[n - 1] == '/';
	/* A link to a file stays one. */
	path = realpath(target, NULL);
	if (!path)
		path = strdup(target);
	return path ? open_place(r, path, e) : err_set(e, ERR_SYS, "not enough memory");
}

/* Whether something named may come now, and what it is called then. */
static int admit(struct receiver *r, enum fp_type type, struct fp_entry *v, struct err *e)
{
	if (r->depth || r->skip)
		return *v->name ? 0 : fstream_malformed(e);
	if (r->want->asked && file_asked_check(r->want->asked, type, v->name, e) < 0)
		return -1;
	if (!r->rename)
		return 0;
	if (r->used)
		return err_set(e, ERR_USAGE, "%s is no folder: several things can be copied into a folder only",
			       r->want->target);
	if (r->only_folder && type != FP_DIR)
		return err_set(e, ERR_USAGE, "%s: there is no such folder", r->want->target);
	r->used = true;
	snprintf(v->name, sizeof(v->name), "%s", r->rename);
	return 0;
}

/* --- folders --- */

/* One that is there already is gone on with, but no link in its place. */
static int enter(struct receiver *r, const struct fp_entry *v)
{
	auto_close int fd = -1;
	int dir = top(r)->fd;
	struct stat st;

	if (!*v->name)
		return fcntl(dir, F_DUPFD_CLOEXEC, 0);
	if (mkdirat(dir, v->name, 0700) < 0 && errno != EEXIST)
		return -1;
	fd = openat(dir, v->name, OPEN_FOLDER | O_NOFOLLOW);
	if (fd < 0 || fstat(fd, &st) < 0)
		return -1;
	if ((st.st_mode & 0700) != 0700 && st.st_uid == geteuid() && fchmod(fd, st.st_mode | 0700) < 0)
		return -1;
	return steal_fd(&fd);
}

static int on_dir(struct receiver *r, struct fp_entry *v)
{
	int fd;

	if (r->skip) {
		r->skip++;
		return 0;
	}
	fd = r->depth < FP_DEPTH_MAX ? enter(r, v) : -1;
	if (fd < 0) {
		problem(r, r->depth == FP_DEPTH_MAX      ? "lies too deep"
			   : errno == ELOOP || errno == ENOTDIR ? "there is something else than a folder in its place"
							 : strerror(errno));
		r->skip = 1;
		return 0;
	}
	r->depth++;
	*top(r) = (struct level){ .fd = fd, .plain = !*v->name, .path = strlen(r->path), .mode = v->mode & r->want->mode_mask,
				.mtime = { (time_t)v->mtime, (long)v->mtime_ns } };
	return 0;
}

/* Mode and time come last: a folder may be one that cannot be written to, and what is put into it changes its time. */
static int on_leave(struct receiver *r, struct err *e)
{
	struct level *l = top(r);
	const struct timespec t[2] = { { .tv_nsec = UTIME_OMIT }, l->mtime };

	if (r->skip) {
		r->skip--;
		return 0;
	}
	if (!r->depth)
		return fstream_malformed(e);
	r->path[l->path] = '\0';
	if (!l->plain && (fchmod(l->fd, l->mode) < 0 || futimens(l->fd, t) < 0))
		problem(r, strerror(errno));
	close(l->fd);
	r->depth--;
	return 0;
}

/* --- files and links --- */

static bool is_fatal(const struct err *e)
{
	return e->errnum == ENOSPC || e->errnum == EDQUOT || e->errnum == EROFS;
}

/* One that cannot be made is told and left out; when none can, the copy ends. */
static int give_up(struct receiver *r, struct err *e)
{
	r->wanted = false;
	file_part_drop(&r->part, false);
	if (is_fatal(e))
		return err_wrap(e, "%s", r->path);
	problem(r, e->msg);
	return 0;
}

static int answer(struct receiver *r, uint64_t hash, struct err *e)
{
	uint8_t p[16];

	le64_put(p, r->wanted ? r->part.offer : FP_UNWANTED);
	le64_put(p + 8, hash);
	r->in_file = r->wanted;
	return fstream_put(r->want->stream, FP_OFFER, p, sizeof(p), e) < 0 ? -1 : fstream_flush(r->want->stream, e);
}

static int on_file(struct receiver *r, const struct fp_entry *v, struct err *e)
{
	uint64_t hash = 0;

	r->wanted = !r->skip;
	r->in_file = true;
	if (r->wanted && file_part_offer(&r->part, top(r)->fd, v, &hash, e) < 0 && give_up(r, e) < 0)
		return -1;
	if (r->wanted)
		r->want->watch->began(r->want->watch->ctx, v->name);
	if (v->ask)
		return answer(r, hash, e);
	return r->wanted && file_part_begin(&r->part, 0, e) < 0 ? give_up(r, e) : 0;
}

static int on_from(struct receiver *r, const struct fstream_record *rec, struct err *e)
{
	uint64_t from;

	if (fstream_u64(rec, &from, e) < 0)
		return -1;
	if (!r->in_file || !r->part.v.ask || r->part.fd >= 0 || (from && from != r->part.offer))
		return fstream_malformed(e);
	r->part.v.ask = false; /* it is said once */
	if (!r->wanted)
		return 0;
	r->want->watch->moved(r->want->watch->ctx, from);
	return file_part_begin(&r->part, from, e) < 0 ? give_up(r, e) : 0;
}

static int on_data(struct receiver *r, const struct fstream_record *rec, struct err *e)
{
	uint64_t n = rec->len;

	if (!r->in_file || (rec->type == FP_HOLE && fstream_u64(rec, &n, e) < 0))
		return fstream_malformed(e);
	if (!r->wanted)
		return 0;
	r->want->watch->moved(r->want->watch->ctx, n);
	if (rec->type == FP_HOLE ? file_part_hole(&r->part, n, e) < 0 : file_part_write(&r->part, rec->payload, rec->len, e) < 0)
		return give_up(r, e);
	return 0;
}

static int on_done(struct receiver *r, const struct fstream_record *rec, struct err *e)
{
	uint64_t size;

	if (!r->in_file || fstream_u64(rec, &size, e) < 0)
		return fstream_malformed(e);
	r->in_file = false;
	if (!r->wanted)
		return 0;
	return file_part_finish(&r->part, size, r->part.v.mode & r->want->mode_mask, e) < 0 ? give_up(r, e) : 0;
}

static int on_drop(struct receiver *r, struct err *e)
{
	if (!r->in_file)
		return fstream_malformed(e);
	r->in_file = false;
	file_part_drop(&r->part, false);
	return 0;
}

/* --- the whole --- */

static int on_entry(struct receiver *r, const struct fstream_record *rec, struct err *e)
{
	struct fp_entry v;

	if (r->in_file || fp_entry_unpack(&v, rec->type, rec->payload, rec->len) < 0)
		return fstream_malformed(e);
	if (admit(r, rec->type, &v, e) < 0)
		return -1;
	if (!r->skip)
		set_path(r, v.name);
	if (rec->type == FP_DIR)
		return on_dir(r, &v);
	if (rec->type == FP_FILE)
		return on_file(r, &v, e);
	if (r->skip)
		return 0;
	r->want->watch->began(r->want->watch->ctx, v.name);
	return file_part_link(top(r)->fd, &v, e) < 0 ? give_up(r, e) : 0;
}

static int on_total(struct receiver *r, const struct fstream_record *rec, struct err *e)
{
	uint64_t bytes;

	if (fstream_u64(rec, &bytes, e) < 0)
		return -1;
	r->want->watch->total(r->want->watch->ctx, bytes);
	return 0;
}

static int take(struct receiver *r, const struct fstream_record *rec, struct err *e)
{
	switch (rec->type) {
	case FP_DIR:
	case FP_FILE:
	case FP_LINK:
		return on_entry(r, rec, e);
	case FP_LEAVE:
		return r->in_file ? fstream_malformed(e) : on_leave(r, e);
	case FP_FROM:
		return on_from(r, rec, e);
	case FP_DATA:
	case FP_HOLE:
		return on_data(r, rec, e);
	case FP_DONE:
		return on_done(r, rec, e);
	case FP_DROP:
		return on_drop(r, e);
	case FP_TOTAL:
		return on_total(r, rec, e);
	case FP_PROBLEM:
		return fstream_problem(rec, r->want->watch, e);
	case FP_END:
		r->ended = true;
		return r->in_file || r->depth || r->skip ? fstream_malformed(e) : 0;
	default:
		return fstream_malformed(e);
	}
}

int file_receive(const struct file_receive *want, struct err *e)
{
	struct receiver r = { .want = want, .part = FILE_PART_INIT };
	struct fstream_record rec;
	int rc;

	r.level = calloc(FP_DEPTH_MAX + 1, sizeof(*r.level));
	if (!r.level)
		return err_set(e, ERR_SYS, "not enough memory");
	r.level[0].fd = -1;
	rc = open_target(&r, e);
	while (rc == 0 && !r.ended)
		rc = fstream_next(want->stream, &rec, e) < 0 ? -1 : take(&r, &rec, e);
	/* The stream was cut, most likely: a large file is worth going on with. */
	file_part_drop(&r.part, r.part.at && r.part.v.size >= FILE_RECEIVE_KEEP);
	for (size_t i = 0; i <= r.depth; i++)
		if (r.level[i].fd >= 0)
			close(r.level[i].fd);
	free(r.rename);
	free(r.level);
	return rc;
}
