#include "limactl-c/ssh/sftp_send.h"

#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

#include "lib/cleanup.h"
#include "limactl-c/base/mem.h"

enum { NAME_SIZE = FP_NAME_MAX + 2 };

/* One of them is to be asked about: what cannot be read is told by the stream, once. */
struct tree {
	struct sftp_send *s;
	bool counts; /* nothing is sent */
};

static int problem(const struct tree *t, const char *path, bool warning, const char *why, struct err *e)
{
	char text[FP_TEXT_MAX];

	if (t->counts)
		return 0;
	snprintf(text, sizeof(text), "%.*s: %.250s", FP_TEXT_MAX / 2, path, why);
	return fstream_put_problem(t->s->stream, text, warning, e);
}

/* why is what a call left; -1 when nothing else will work either. */
static int failed(const struct tree *t, const char *path, struct err *e)
{
	struct err why = *e;

	return sftp_is_lost(t->s->sftp) || why.kind == ERR_TIMEOUT ? -1 : problem(t, path, false, why.msg, e);
}

static bool has_type(const LIBSSH2_SFTP_ATTRIBUTES *a)
{
	return a->flags & LIBSSH2_SFTP_ATTR_PERMISSIONS;
}

static uint64_t size_of(const LIBSSH2_SFTP_ATTRIBUTES *a)
{
	return a->flags & LIBSSH2_SFTP_ATTR_SIZE && a->filesize <= FP_SIZE_MAX ? a->filesize : 0;
}

static void fill_entry(struct fp_entry *v, const char *name, const LIBSSH2_SFTP_ATTRIBUTES *a)
{
	*v = (struct fp_entry){ .mode = (uint32_t)a->permissions & FP_MODE };
	if (a->flags & LIBSSH2_SFTP_ATTR_ACMODTIME)
		v->mtime = (int64_t)a->mtime;
	if (LIBSSH2_SFTP_S_ISREG(a->permissions))
		v->size = size_of(a);
	snprintf(v->name, sizeof(v->name), "%s", name);
}

/* --- files and links --- */

static int drop(const struct tree *t, const char *path, struct err *e)
{
	if (failed(t, path, e) < 0)
		return -1;
	return fstream_put(t->s->stream, FP_DROP, NULL, 0, e);
}

/* Up to its end, but no further than it reached when it was opened; one of no size, as in /proc, to its end. */
static int send_content(const struct tree *t, LIBSSH2_SFTP_HANDLE *h, const char *path, uint64_t size, struct err *e)
{
	uint64_t at = 0;

	while (!size || at < size) {
		uint8_t *p = fstream_data(t->s->stream, e);
		size_t want = size && size - at < FP_PAYLOAD_MAX ? (size_t)(size - at) : FP_PAYLOAD_MAX;
		ssize_t k;

		if (!p)
			return -1;
		k = sftp_read(t->s->sftp, h, p, want, e);
		if (k < 0)
			return drop(t, path, e);
		if (!k)
			break;
		fstream_put_data(t->s->stream, (size_t)k);
		at += (uint64_t)k;
	}
	if (at < size) {
		err_set(e, ERR_STATE, "it became shorter while it was read");
		return drop(t, path, e);
	}
	return fstream_put_u64(t->s->stream, FP_DONE, at, e);
}

static int send_file(const struct tree *t, const char *path, const char *name, struct err *e)
{
	LIBSSH2_SFTP_HANDLE *h = sftp_open(t->s->sftp, path, LIBSSH2_FXF_READ, e);
	LIBSSH2_SFTP_ATTRIBUTES a;
	struct fp_entry v;
	int rc;

	if (!h)
		return failed(t, path, e);
	if (sftp_handle_attributes(t->s->sftp, h, false, &a, e) < 0) {
		rc = failed(t, path, e);
	} else {
		fill_entry(&v, name, &a);
		rc = fstream_put_entry(t->s->stream, FP_FILE, &v, e) < 0 ? -1 : send_content(t, h, path, size_of(&a), e);
	}
	sftp_close(t->s->sftp, h);
	return rc;
}

static int send_link(const struct tree *t, const char *path, const char *name, const LIBSSH2_SFTP_ATTRIBUTES *a, struct err *e)
{
	struct fp_entry v;

	fill_entry(&v, name, a);
	if (sftp_read_link(t->s->sftp, path, LIBSSH2_SFTP_READLINK, v.link, sizeof(v.link), e) < 0)
		return failed(t, path, e);
	return fstream_put_entry(t->s->stream, FP_LINK, &v, e);
}

/* --- trees --- */

static int visit_names(const struct tree *t, const char *path, int depth, const char *pattern, struct err *e);

static int send_folder(const struct tree *t, const char *path, const char *name, const LIBSSH2_SFTP_ATTRIBUTES *a, int depth,
		       struct err *e)
{
	struct fp_entry v;

	if (t->counts)
		return visit_names(t, path, depth, NULL, e);
	fill_entry(&v, name, a);
	if (fstream_put_entry(t->s->stream, FP_DIR, &v, e) < 0 || visit_names(t, path, depth, NULL, e) < 0)
		return -1;
	return fstream_put(t->s->stream, FP_LEAVE, NULL, 0, e);
}

static int visit(const struct tree *t, const char *path, const char *name, LIBSSH2_SFTP_ATTRIBUTES *a, int depth, struct err *e)
{
	if (!has_type(a) && sftp_attributes(t->s->sftp, path, LIBSSH2_SFTP_LSTAT, a, e) < 0)
		return failed(t, path, e);
	if (LIBSSH2_SFTP_S_ISDIR(a->permissions))
		return send_folder(t, path, name, a, depth, e);
	if (t->counts) {
		t->s->total += LIBSSH2_SFTP_S_ISREG(a->permissions) ? size_of(a) : 0;
		return 0;
	}
	if (LIBSSH2_SFTP_S_ISREG(a->permissions))
		return send_file(t, path, name, e);
	if (LIBSSH2_SFTP_S_ISLNK(a->permissions))
		return send_link(t, path, name, a, e);
	return problem(t, path, true, "is neither file, folder nor link: left out", e);
}

bool sftp_send_name(char *name, size_t len)
{
	if (len > FP_NAME_MAX || memchr(name, '\0', len))
		return false;
	name[len] = '\0';
	return fp_is_name(name);
}

static int named(const struct tree *t, const char *path, const LIBSSH2_SFTP_ATTRIBUTES *followed, struct err *e);

/* What a folder has; with a pattern what it names, as if each had been named. *any counts them. */
static int visit_all(const struct tree *t, LIBSSH2_SFTP_HANDLE *h, const char *path, int depth, const char *pattern, struct err *e)
{
	LIBSSH2_SFTP_ATTRIBUTES a;
	char name[NAME_SIZE];
	ssize_t n;

	while ((n = sftp_next(t->s->sftp, h, name, sizeof(name), &a, e)) > 0) {
		auto_free char *below = NULL;
		bool dots = (n == 1 && name[0] == '.') || (n == 2 && !memcmp(name, "..", 2));
		int rc;

		if (dots)
			continue;
		if (!sftp_send_name(name, (size_t)n)) {
			if (problem(t, path, false, "it has something with a name that cannot be one", e) < 0)
				return -1;
			continue;
		}
		if (pattern && fnmatch(pattern, name, FNM_PERIOD))
			continue;
		below = xasprintf("%s%s%s", path, path[strlen(path) - 1] == '/' ? "" : "/", name);
		rc = pattern ? named(t, below, NULL, e) : visit(t, below, name, &a, depth + 1, e);
		if (rc < 0)
			return -1;
	}
	return n < 0 ? failed(t, path, e) : 0;
}

static int visit_names(const struct tree *t, const char *path, int depth, const char *pattern, struct err *e)
{
	LIBSSH2_SFTP_HANDLE *h;
	int rc;

	if (depth + 1 == FP_DEPTH_MAX)
		return problem(t, path, false, "lies too deep: what is in it is left out", e);
	h = sftp_open(t->s->sftp, path, 0, e);
	if (!h)
		return failed(t, path, e);
	rc = visit_all(t, h, path, depth, pattern, e);
	sftp_close(t->s->sftp, h);
	return rc;
}

/* --- what was named --- */

/* A link is followed. followed: what is there; NULL: it is not known. */
static int named(const struct tree *t, const char *path, const LIBSSH2_SFTP_ATTRIBUTES *followed, struct err *e)
{
	LIBSSH2_SFTP_ATTRIBUTES a;
	char name[FP_NAME_MAX + 1];
	size_t n;
	const char *last = fp_last(path, &n);

	if (followed)
		a = *followed;
	else if (sftp_attributes(t->s->sftp, path, LIBSSH2_SFTP_STAT, &a, e) < 0)
		return failed(t, path, e);
	snprintf(name, sizeof(name), "%.*s", (int)n, last);
	if (!fp_is_name(name))
		*name = '\0';
	if (LIBSSH2_SFTP_S_ISDIR(a.permissions)) {
		if (!t->s->recursive)
			return problem(t, path, false, "is a folder: copied with --recursive (-r) only", e);
		return send_folder(t, path, name, &a, 0, e);
	}
	if (!LIBSSH2_SFTP_S_ISREG(a.permissions))
		return problem(t, path, false, "is neither file nor folder", e);
	return visit(t, path, name, &a, 0, e);
}

/* "~" and relative paths are at home, where the server begins. */
static const char *at_home(const char *path)
{
	if (path[0] != '~' || (path[1] && path[1] != '/'))
		return *path ? path : ".";
	path += 1 + strspn(path + 1, "/");
	return *path ? path : ".";
}

static int word(const struct tree *t, const char *said, struct err *e)
{
	const char *path = at_home(said), *slash = strrchr(path, '/'), *last = slash ? slash + 1 : path;
	LIBSSH2_SFTP_ATTRIBUTES a;
	auto_free char *folder = NULL;

	if (sftp_attributes(t->s->sftp, path, LIBSSH2_SFTP_STAT, &a, e) == 0)
		return named(t, path, &a, e);
	if (!strpbrk(last, "*?["))
		return failed(t, path, e);
	folder = !slash ? xstrdup(".") : xstrndup(path, slash == path ? 1 : (size_t)(slash - path));
	return visit_names(t, folder, 0, last, e);
}

int sftp_send(struct sftp_send *s, const char *said, struct err *e)
{
	return word(&(struct tree){ .s = s }, said, e);
}

int sftp_send_count(struct sftp_send *s, const char *said, struct err *e)
{
	return word(&(struct tree){ .s = s, .counts = true }, said, e);
}
