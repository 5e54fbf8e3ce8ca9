#include "limactl-c/ssh/sftp_receive.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/cleanup.h"
#include "lib/le.h"
#include "lib/mux_wire.h"
#include "limactl-c/base/fs.h"
#include "limactl-c/base/mem.h"

/* A folder that is being filled. */
struct level {
	char *path;
	bool plain; /* the target itself: its mode and time stay */
	struct fp_entry v;
};

/* The file that is being written. */
struct making {
	struct fp_entry v;
	char *path, *part;
	LIBSSH2_SFTP_HANDLE *h; /* NULL: it is not wanted, or could not be made */
	uint64_t at, written;   /* where the next bytes belong; up to where there are some */
};

struct receiver {
	const struct sftp_receive *want;
	struct level level[FP_DEPTH_MAX + 1];
	size_t depth;
	size_t skip;      /* folders entered in one that could not be made */
	char *rename;     /* what the one thing is to be called; NULL: the target is a folder */
	bool only_folder; /* the target ends with a slash and is not there */
	bool used;        /* the one thing came */
	struct making file;
	bool in_file;     /* between FILE and DONE */
	bool ended;
};

static void problem(const struct receiver *r, const char *path, const char *why)
{
	char text[FP_TEXT_MAX];

	snprintf(text, sizeof(text), "%.*s: %.250s", FP_TEXT_MAX / 2, path, why);
	r->want->problem(r->want->ctx, text);
}

/* One that cannot be made is told and left out; when none can, the copy ends. */
static int give_up(const struct receiver *r, const char *path, struct err *e)
{
	if (sftp_is_lost(r->want->sftp) || e->kind == ERR_TIMEOUT || fs_is_full(e->errnum) || e->errnum == EROFS)
		return err_wrap(e, "%s", path);
	problem(r, path, e->msg);
	return 0;
}

static char *below(const char *folder, const char *name)
{
	if (!*name)
		return xstrdup(folder);
	return xasprintf("%s%s%s", folder, folder[strlen(folder) - 1] == '/' ? "" : "/", name);
}

static void fill_attributes(LIBSSH2_SFTP_ATTRIBUTES *a, const struct fp_entry *v)
{
	unsigned long time = v->mtime < 0 ? 0 : v->mtime > UINT32_MAX ? UINT32_MAX : (unsigned long)v->mtime;

	*a = (LIBSSH2_SFTP_ATTRIBUTES){ .flags = LIBSSH2_SFTP_ATTR_PERMISSIONS | LIBSSH2_SFTP_ATTR_ACMODTIME,
					.permissions = v->mode & FP_MODE, .atime = time, .mtime = time };
}

/* --- the target --- */

static const char *at_home(const char *path)
{
	if (path[0] != '~' || (path[1] && path[1] != '/'))
		return *path ? path : ".";
	path += 1 + strspn(path + 1, "/");
	return *path ? path : ".";
}

/* path, which is taken, is the place of the one thing. */
static int open_place(struct receiver *r, char *path, struct err *e)
{
	auto_free char *own = path;
	size_t n = strlen(own);
	LIBSSH2_SFTP_ATTRIBUTES a;
	char *slash;

	while (n > 1 && own[n - 1] == '/')
		own[--n] = '\0';
	slash = strrchr(own, '/');
	r->rename = xstrdup(slash ? slash + 1 : own);
	if (!fp_is_name(r->rename))
		return err_set(e, ERR_USAGE, "%s: there is no such folder", own);
	r->level[0].path = !slash ? xstrdup(".") : xstrndup(own, slash == own ? 1 : (size_t)(slash - own));
	if (sftp_attributes(r->want->sftp, r->level[0].path, LIBSSH2_SFTP_STAT, &a, e) < 0)
		return err_wrap(e, "%s", r->level[0].path);
	return 0;
}

static int open_target(struct receiver *r, struct err *e)
{
	const char *target = at_home(r->want->target);
	struct sftp *s = r->want->sftp;
	LIBSSH2_SFTP_ATTRIBUTES a;
	char real[4096];
	bool there = sftp_attributes(s, target, LIBSSH2_SFTP_STAT, &a, e) == 0;

	if (sftp_is_lost(s))
		return -1;
	r->level[0].plain = true;
	if (there && LIBSSH2_SFTP_S_ISDIR(a.permissions)) {
		r->level[0].path = xstrdup(target);
		return 0;
	}
	if (r->want->folder)
		return err_set(e, ERR_USAGE, "%s is no folder: several things can be copied into a folder only", target);
	if (there && !LIBSSH2_SFTP_S_ISREG(a.permissions))
		return err_set(e, ERR_USAGE, "%s is neither file nor folder", target);
	r->only_folder = target[strlen(target) - 1] == '/';
	/* A link to a file stays one. */
	if (there && sftp_read_link(s, target, LIBSSH2_SFTP_REALPATH, real, sizeof(real), e) == 0)
		return open_place(r, xstrdup(real), e);
	return open_place(r, xstrdup(target), e);
}

/* Whether something named may come now, and what it is called then. */
static int admit(struct receiver *r, enum fp_type type, struct fp_entry *v, struct err *e)
{
	if (r->depth || r->skip)
		return *v->name ? 0 : fstream_malformed(e);
	if (!r->rename)
		return 0;
	if (r->used)
		return err_set(e, ERR_USAGE, "%s is no folder: several things can be copied into a folder only", r->want->target);
	if (r->only_folder && type != FP_DIR)
		return err_set(e, ERR_USAGE, "%s: there is no such folder", r->want->target);
	r->used = true;
	snprintf(v->name, sizeof(v->name), "%s", r->rename);
	return 0;
}

/* --- folders --- */

/* One that is there already is gone on with, but no link in its place. */
static int enter(const struct receiver *r, const char *path, const struct fp_entry *v, struct err *e)
{
	struct sftp *s = r->want->sftp;
	LIBSSH2_SFTP_ATTRIBUTES a;

	if (!*v->name || sftp_make_folder(s, path, e) == 0)
		return 0;
	if (sftp_is_lost(s) || sftp_attributes(s, path, LIBSSH2_SFTP_LSTAT, &a, &(struct err){ 0 }) < 0)
		return -1;
	if (!LIBSSH2_SFTP_S_ISDIR(a.permissions))
		return err_set(e, ERR_STATE, "there is something else than a folder in its place");
	if ((a.permissions & 0700) == 0700)
		return 0;
	a = (LIBSSH2_SFTP_ATTRIBUTES){ .flags = LIBSSH2_SFTP_ATTR_PERMISSIONS, .permissions = (a.permissions & FP_MODE) | 0700 };
	return sftp_attributes(s, path, LIBSSH2_SFTP_SETSTAT, &a, e);
}

static int on_dir(struct receiver *r, const struct fp_entry *v, struct err *e)
{
	auto_free char *path = NULL;
	int rc;

	if (r->skip) {
		r->skip++;
		return 0;
	}
	path = below(r->level[r->depth].path, v->name);
	rc = r->depth == FP_DEPTH_MAX ? err_set(e, ERR_STATE, "lies too deep") : enter(r, path, v, e);
	if (rc < 0) {
		r->skip = 1;
		return give_up(r, path, e);
	}
	r->level[++r->depth] = (struct level){ .path = steal(&path), .plain = !*v->name, .v = *v };
	return 0;
}

/* Mode and time come last: what is put into a folder changes its time. */
static int on_leave(struct receiver *r, struct err *e)
{
	struct level *l = &r->level[r->depth];
	LIBSSH2_SFTP_ATTRIBUTES a;
	int rc = 0;

	if (r->skip) {
		r->skip--;
		return 0;
	}
	if (!r->depth)
		return fstream_malformed(e);
	fill_attributes(&a, &l->v);
	if (!l->plain && sftp_attributes(r->want->sftp, l->path, LIBSSH2_SFTP_SETSTAT, &a, e) < 0)
		rc = give_up(r, l->path, e);
	free(steal(&l->path));
	r->depth--;
	return rc;
}

/* --- files and links --- */

static char *part_path(const char *folder, const char *name)
{
	auto_free char *part = xasprintf(".limactl-c-%016llx.part",
					 (unsigned long long)wire_hash(0, (const uint8_t *)name, strlen(name)));

	return below(folder, part);
}

/* Nothing of it stays. */
static void drop_file(struct receiver *r)
{
	struct sftp *s = r->want->sftp;

	if (r->file.h) {
		sftp_close(s, r->file.h);
		if (!sftp_is_lost(s))
			sftp_remove(s, r->file.part, &(struct err){ 0 });
	}
	free(r->file.path);
	free(r->file.part);
	r->file = (struct making){ 0 };
}

static int give_file_up(struct receiver *r, struct err *e)
{
	auto_free char *path = xstrdup(r->file.path);

	drop_file(r);
	return give_up(r, path, e);
}

/* What an earlier copy left is removed first: it might be a link by now. */
static int open_part(struct receiver *r, struct err *e)
{
	static const unsigned long flags = LIBSSH2_FXF_WRITE | LIBSSH2_FXF_CREAT | LIBSSH2_FXF_EXCL;
	struct sftp *s = r->want->sftp;

	r->file.h = sftp_open(s, r->file.part, flags, e);
	if (!r->file.h && !sftp_is_lost(s) && sftp_remove(s, r->file.part, &(struct err){ 0 }) == 0)
		r->file.h = sftp_open(s, r->file.part, flags, e);
	return r->file.h ? 0 : -1;
}

static int on_file(struct receiver *r, const struct fp_entry *v, struct err *e)
{
	uint8_t offer[16];
	bool skipped = r->skip > 0;

	r->in_file = true;
	if (!skipped) {
		const char *folder = r->level[r->depth].path;

		r->file = (struct making){ .v = *v, .path = below(folder, v->name), .part = part_path(folder, v->name) };
		if (open_part(r, e) < 0 && give_file_up(r, e) < 0)
			return -1;
	}
	if (!v->ask)
		return 0;
	r->in_file = r->file.h;
	le64_put(offer, r->file.h ? 0 : FP_UNWANTED);
	le64_put(offer + 8, 0);
	return fstream_put(r->want->stream, FP_OFFER, offer, sizeof(offer), e) < 0 ? -1 : fstream_flush(r->want->stream, e);
}

static int on_data(struct receiver *r, const struct fstream_record *rec, struct err *e)
{
	uint64_t n = rec->len;

	if (!r->in_file || (rec->type == FP_HOLE && fstream_u64(rec, &n, e) < 0) || n > FP_SIZE_MAX - r->file.at)
		return fstream_malformed(e);
	if (!r->file.h)
		return 0;
	if (rec->type == FP_DATA) {
		if (r->file.at != r->file.written)
			libssh2_sftp_seek64(r->file.h, r->file.at);
		if (sftp_write(r->want->sftp, r->file.h, rec->payload, rec->len, e) < 0)
			return give_file_up(r, e);
		r->file.written = r->file.at + n;
	}
	r->file.at += n;
	return 0;
}

/* Whole: it gets size, mode and time, then its name. */
static int finish_file(struct receiver *r, struct err *e)
{
	struct sftp *s = r->want->sftp;
	LIBSSH2_SFTP_ATTRIBUTES a;

	fill_attributes(&a, &r->file.v);
	if (r->file.at != r->file.written) {
		a.flags |= LIBSSH2_SFTP_ATTR_SIZE;
		a.filesize = r->file.at;
	}
	if (sftp_handle_attributes(s, r->file.h, true, &a, e) < 0)
		return -1;
	return sftp_replace(s, r->file.part, r->file.path, e);
}

static int on_done(struct receiver *r, const struct fstream_record *rec, struct err *e)
{
	uint64_t size;

	if (!r->in_file || fstream_u64(rec, &size, e) < 0 || (r->file.h && size != r->file.at))
		return fstream_malformed(e);
	r->in_file = false;
	if (!r->file.h)
		return 0;
	if (finish_file(r, e) < 0)
		return give_file_up(r, e);
	sftp_close(r->want->sftp, r->file.h);
	r->file.h = NULL; /* its part has another name by now */
	drop_file(r);
	return 0;
}

static int on_link(struct receiver *r, const struct fp_entry *v, struct err *e)
{
	struct sftp *s = r->want->sftp;
	auto_free char *path = NULL, *part = NULL;

	if (r->skip)
		return 0;
	path = below(r->level[r->depth].path, v->name);
	part = part_path(r->level[r->depth].path, v->name);
	if (sftp_make_link(s, v->link, part, e) < 0 &&
	    (sftp_is_lost(s) || sftp_remove(s, part, &(struct err){ 0 }) < 0 || sftp_make_link(s, v->link, part, e) < 0))
		return give_up(r, path, e);
	if (sftp_replace(s, part, path, e) == 0)
		return 0;
	if (!sftp_is_lost(s))
		sftp_remove(s, part, &(struct err){ 0 });
	return give_up(r, path, e);
}

/* --- the whole --- */

static int on_entry(struct receiver *r, const struct fstream_record *rec, struct err *e)
{
	struct fp_entry v;

	if (r->in_file || fp_entry_unpack(&v, rec->type, rec->payload, rec->len) < 0)
		return fstream_malformed(e);
	if (admit(r, rec->type, &v, e) < 0)
		return -1;
	if (rec->type == FP_DIR)
		return on_dir(r, &v, e);
	return rec->type == FP_FILE ? on_file(r, &v, e) : on_link(r, &v, e);
}

static int on_drop(struct receiver *r, struct err *e)
{
	if (!r->in_file)
		return fstream_malformed(e);
	r->in_file = false;
	drop_file(r);
	return 0;
}

static int take(struct receiver *r, const struct fstream_record *rec, struct err *e)
{
	uint64_t n;

	switch (rec->type) {
	case FP_DIR:
	case FP_FILE:
	case FP_LINK:
		return on_entry(r, rec, e);
	case FP_LEAVE:
		return r->in_file ? fstream_malformed(e) : on_leave(r, e);
	case FP_FROM: /* nothing was offered */
		return !r->in_file || fstream_u64(rec, &n, e) < 0 || n ? fstream_malformed(e) : 0;
	case FP_DATA:
	case FP_HOLE:
		return on_data(r, rec, e);
	case FP_DONE:
		return on_done(r, rec, e);
	case FP_DROP:
		return on_drop(r, e);
	case FP_TOTAL:
	case FP_PROBLEM:
		return 0;
	case FP_END:
		r->ended = true;
		return r->in_file || r->depth || r->skip ? fstream_malformed(e) : 0;
	default:
		return fstream_malformed(e);
	}
}

int sftp_receive(const struct sftp_receive *want, struct err *e)
{
	struct receiver *r = xcalloc(1, sizeof(*r));
	struct fstream_record rec;
	int rc;

	r->want = want;
	rc = open_target(r, e);
	while (rc == 0 && !r->ended)
		rc = fstream_next(want->stream, &rec, e) < 0 ? -1 : take(r, &rec, e);
	drop_file(r);
	for (size_t i = 0; i <= r->depth; i++)
		free(r->level[i].path);
	free(r->rename);
	free(r);
	return rc;
}
