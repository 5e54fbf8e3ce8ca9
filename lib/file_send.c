#include "lib/file_send.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/cleanup.h"
#include "lib/file_hash.h"
#include "lib/le.h"

enum { OPEN_READ = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY };

/* Where we are, for messages: the path as it was given and the names below it. */
struct place {
	const struct place *up;
	const char *name;
};

static void place_text(const struct place *p, char *text, size_t size)
{
	size_t n;

	*text = '\0';
	if (p->up)
		place_text(p->up, text, size);
	n = strlen(text);
	snprintf(text + n, size - n, "%s%s", n && text[n - 1] != '/' ? "/" : "", p->name);
}

static void problem(const struct file_send *s, const struct place *p, bool warning, const char *why)
{
	char path[FP_TEXT_MAX / 2], text[FP_TEXT_MAX];

	place_text(p, path, sizeof(path));
	snprintf(text, sizeof(text), "%s: %s", path, why);
	s->watch->problem(s->watch->ctx, text, warning);
}

static int failed(const struct file_send *s, const struct place *p)
{
	problem(s, p, false, strerror(errno));
	return 0;
}

static void fill_entry(struct fp_entry *v, const char *name, const struct stat *st)
{
	v->mode = st->st_mode & FP_MODE;
	v->mtime = FILE_MTIME(st).tv_sec;
	v->mtime_ns = (uint32_t)FILE_MTIME(st).tv_nsec;
	v->size = S_ISREG(st->st_mode) ? (uint64_t)st->st_size : 0;
	v->ask = false;
	snprintf(v->name, sizeof(v->name), "%s", name);
	*v->link = '\0';
}

/* --- files --- */

/* Some of the content, from at up to limit. Returns the count, 0 at the file's end; -1 with *dead when the stream failed, else
 * with errno. */
static ssize_t send_piece(struct file_send *s, int fd, off_t at, off_t limit, bool *dead, struct err *e)
{
	uint8_t *p = fstream_data(s->stream, e);
	size_t want = limit - at < FP_PAYLOAD_MAX ? (size_t)(limit - at) : FP_PAYLOAD_MAX;
	ssize_t k;

	*dead = !p;
	if (!p)
		return -1;
	do
		k = pread(fd, p, want, at);
	while (k < 0 && errno == EINTR);
	if (k > 0) {
		fstream_put_data(s->stream, (size_t)k);
		s->watch->moved(s->watch->ctx, (uint64_t)k);
	}
	return k;
}

/* What of a file comes next: a hole up to *data, then data up to *end. */
static void next_data(int fd, off_t at, off_t size, off_t *data, off_t *end)
{
	*data = lseek(fd, at, SEEK_DATA);
	if (*data < 0 && errno == ENXIO) {
		*data = *end = size;
		return;
	}
	/* A file system that knows nothing of holes. */
	if (*data < at) {
		*data = at;
		*end = size;
		return;
	}
	*end = lseek(fd, *data, SEEK_HOLE);
	if (*data > size)
		*data = size;
	if (*end <= *data || *end > size)
		*end = size;
}

static int drop(struct file_send *s, const struct place *p, const char *why, struct err *e)
{
	problem(s, p, false, why);
	return fstream_put(s->stream, FP_DROP, NULL, 0, e);
}

/* Its size when it was opened is what is sent: a file that grows meanwhile is copied as it was then. */
static int send_content(struct file_send *s, int fd, off_t at, off_t size, const struct place *p, struct err *e)
{
	while (at < size) {
		off_t data, end;
		bool dead = false;
		ssize_t k = 1;

		next_data(fd, at, size, &data, &end);
		if (data > at && fstream_put_u64(s->stream, FP_HOLE, (uint64_t)(data - at), e) < 0)
			return -1;
		s->watch->moved(s->watch->ctx, (uint64_t)(data - at));
		for (at = data; at < end; at += k) {
			k = send_piece(s, fd, at, end, &dead, e);
			if (dead)
				return -1;
			if (k <= 0)
				return drop(s, p, k < 0 ? strerror(errno) : "it became shorter while it was read", e);
		}
	}
	return fstream_put_u64(s->stream, FP_DONE, (uint64_t)at, e);
}

/* What has no size, as in /proc, has content all the same. */
static int send_unsized(struct file_send *s, int fd, const struct place *p, struct err *e)
{
	off_t at = 0;
	bool dead;
	ssize_t k;

	while ((k = send_piece(s, fd, at, at + FP_PAYLOAD_MAX, &dead, e)) > 0)
		at += k;
	if (dead)
		return -1;
	if (k < 0 && errno != EAGAIN)
		return drop(s, p, strerror(errno), e);
	return fstream_put_u64(s->stream, FP_DONE, (uint64_t)at, e);
}

/* What the receiver has already, if our file begins with the very same. */
static int agree(struct file_send *s, int fd, off_t size, uint64_t *from, struct err *e)
{
	struct fstream_record r;
	uint64_t have, hash;

	if (fstream_offer(s->stream, s->watch, &r, e) < 0 || fstream_u64(&r, &have, e) < 0)
		return -1;
	*from = have;
	if (have == FP_UNWANTED)
		return 0;
	if (have > (uint64_t)size || (have && (file_hash(fd, (off_t)have, &hash) < 0 || hash != le64_get(r.payload + 8))))
		*from = 0;
	s->watch->moved(s->watch->ctx, *from);
	return fstream_put_u64(s->stream, FP_FROM, *from, e);
}

static int send_file(struct file_send *s, int fd, const struct stat *st, const char *name, const struct place *p, struct err *e)
{
	struct fp_entry v;
	uint64_t from = 0;

	fill_entry(&v, name, st);
	v.ask = v.size >= FILE_SEND_ASK;
	s->watch->began(s->watch->ctx, p->name);
	if (fstream_put_entry(s->stream, FP_FILE, &v, e) < 0 || (v.ask && agree(s, fd, st->st_size, &from, e) < 0))
		return -1;
	if (from == FP_UNWANTED)
		return 0;
	return st->st_size ? send_content(s, fd, (off_t)from, st->st_size, p, e) : send_unsized(s, fd, p, e);
}

/* --- trees --- */

static int send_link(struct file_send *s, int dir, const struct stat *st, const struct place *p, struct err *e)
{
	struct fp_entry v;
	ssize_t n;

	fill_entry(&v, p->name, st);
	n = readlinkat(dir, p->name, v.link, FP_LINK_MAX);
	if (n <= 0)
		return failed(s, p);
	v.link[n] = '\0';
	s->watch->began(s->watch->ctx, p->name);
	return fstream_put_entry(s->stream, FP_LINK, &v, e);
}

static int send_names(struct file_send *s, int fd, int depth, const struct place *p, uint64_t *count, struct err *e);

/* A folder, which is then closed. name: at the other end. */
static int send_folder(struct file_send *s, int fd, const struct stat *st, const char *name, int depth, const struct place *p,
		       struct err *e)
{
	struct fp_entry v;

	fill_entry(&v, name, st);
	if (fstream_put_entry(s->stream, FP_DIR, &v, e) < 0) {
		close(fd);
		return -1;
	}
	if (send_names(s, fd, depth, p, NULL, e) < 0)
		return -1;
	return fstream_put(s->stream, FP_LEAVE, NULL, 0, e);
}

/* count, when it is not NULL, gets the bytes and nothing is sent. */
static int visit(struct file_send *s, int dir, int depth, const struct place *p, uint64_t *count, struct err *e)
{
	auto_close int fd = -1;
	struct stat st;

	if (fstatat(dir, p->name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return count ? 0 : failed(s, p);
	if (count && S_ISREG(st.st_mode))
		*count += (uint64_t)st.st_size;
	if (count && !S_ISDIR(st.st_mode))
		return 0;
	if (S_ISLNK(st.st_mode))
		return send_link(s, dir, &st, p, e);
	if (!S_ISDIR(st.st_mode) && !S_ISREG(st.st_mode)) {
		problem(s, p, true, "is neither file, folder nor link: left out");
		return 0;
	}
	fd = openat(dir, p->name, OPEN_READ | O_NOFOLLOW);
	if (fd < 0 || fstat(fd, &st) < 0)
		return count ? 0 : failed(s, p);
	if (S_ISREG(st.st_mode))
		return count ? 0 : send_file(s, fd, &st, p->name, p, e);
	if (!S_ISDIR(st.st_mode))
		return 0; /* it was another one a moment ago */
	return count ? send_names(s, steal_fd(&fd), depth, p, count, e)
		     : send_folder(s, steal_fd(&fd), &st, p->name, depth, p, e);
}

static int send_names(struct file_send *s, int fd, int depth, const struct place *p, uint64_t *count, struct err *e)
{
	auto_closedir DIR *d = fdopendir(fd);
	struct dirent *de;

	if (!d) {
		close(fd);
		return failed(s, p);
	}
	if (depth + 1 == FP_DEPTH_MAX) {
		if (!count)
			problem(s, p, false, "lies too deep: what is in it is left out");
		return 0;
	}
	while (errno = 0, (de = readdir(d))) {
		struct place at = { .up = p, .name = de->d_name };

		if (strcmp(de->d_name, ".") && strcmp(de->d_name, "..") && visit(s, dirfd(d), depth + 1, &at, count, e) < 0)
			return -1;
	}
	return errno && !count ? failed(s, p) : 0;
}

/* --- what was named --- */

/* "" when it has none of its own. */
static void last_name(const char *path, char name[FP_NAME_MAX + 1])
{
	size_t n;
	const char *last = fp_last(path, &n);

	snprintf(name, FP_NAME_MAX + 1, "%.*s", (int)n, last);
	if (!fp_is_name(name))
		*name = '\0';
}

static int open_named(struct file_send *s, const char *path, struct stat *st, const struct place *p)
{
	int fd;

	/* Before it is opened: devices do things when they are. */
	if (stat(path, st) < 0) {
		failed(s, p);
		return -1;
	}
	if (S_ISDIR(st->st_mode) && !s->recursive)
		problem(s, p, false, "is a folder: copied with --recursive (-r) only");
	else if (!S_ISDIR(st->st_mode) && !S_ISREG(st->st_mode))
		problem(s, p, false, "is neither file nor folder");
	else if ((fd = open(path, OPEN_READ)) >= 0 && fstat(fd, st) == 0)
		return fd;
	else
		failed(s, p);
	return -1;
}

int file_send_count(struct file_send *s, const char *path, struct err *e)
{
	const struct place p = { .name = path };
	struct stat st;
	int fd;

	if (stat(path, &st) < 0)
		return 0;
	if (S_ISREG(st.st_mode))
		s->total += (uint64_t)st.st_size;
	if (!S_ISDIR(st.st_mode) || !s->recursive || (fd = open(path, OPEN_READ | O_DIRECTORY)) < 0)
		return 0;
	return send_names(s, fd, 0, &p, &s->total, e);
}

int file_send(struct file_send *s, const char *path, struct err *e)
{
	const struct place p = { .name = path };
	auto_close int fd = -1;
	char name[FP_NAME_MAX + 1];
	struct stat st;

	fd = open_named(s, path, &st, &p);
	if (fd < 0)
		return 0;
	last_name(path, name);
	if (S_ISDIR(st.st_mode))
		return send_folder(s, steal_fd(&fd), &st, name, 0, &p, e);
	return send_file(s, fd, &st, name, &p, e);
}
