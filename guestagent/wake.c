#include "guestagent/wake.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "guestagent/held.h"
#include "guestagent/own_changes.h"
#include "guestagent/wake_mounts.h"
#include "guestagent/zero_write.h"
#include "lib/beneath.h"
#include "lib/cleanup.h"
#include "lib/log.h"

enum {
	HELD_MAX = 60000,        /* each takes a descriptor */
	RECENT = 2,              /* seconds */
	BYTES_MAX = 64 * 1024,   /* read at once */
};

struct mount {
	int root; /* -1: there is none */
	enum wake_kind kind;
	bool complained;
};

struct wake {
	struct mount mount[FE_MOUNTS_MAX];
	struct held *held;
	struct own_changes *own; /* NULL: there was no room for it */
	struct zero_write zero; /* ring -1: this kernel has none */
	struct fe_record record;
	/* The folder woken last because something in it went: of a run of them each is woken once. */
	char woken[FE_PATH_MAX + 1];
	int woken_mount; /* -1: none */
};

static void complain(struct mount *m, const char *path)
{
	if (!m->complained)
		log_warn("file events: those who watch %s are not told: %s", path, strerror(errno));
	m->complained = true;
}

static bool is_recent(const struct timespec *t)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return t->tv_sec + RECENT >= now.tv_sec && t->tv_sec <= now.tv_sec + RECENT;
}

static int set_times(int fd, const struct timespec t[2])
{
	char link[40];

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd); /* fd is one of O_PATH */
	return utimensat(AT_FDCWD, link, t, 0);
}

static void wake_folder(struct mount *m, const char *path, int fd, const struct stat *st)
{
	struct timespec t[2] = { { .tv_nsec = UTIME_OMIT }, st->st_mtim };

	if (m->kind == WAKE_9P && is_recent(&st->st_mtim))
		t[1] = (struct timespec){ .tv_nsec = UTIME_NOW };
	if (set_times(fd, t) < 0)
		complain(m, path);
}

/* The folder that path lies in. */
static void wake_parent(struct wake *w, unsigned mount, const char *path)
{
	struct mount *m = &w->mount[mount];
	const char *slash = strrchr(path, '/');
	char folder[FE_PATH_MAX + 1];
	auto_close int fd = -1;
	struct stat st;

	snprintf(folder, sizeof(folder), "%.*s", slash ? (int)(slash - path) : 0, path);
	if (w->woken_mount == (int)mount && !strcmp(w->woken, folder))
		return;
	fd = beneath_open(m->root, folder, O_PATH | O_DIRECTORY, true);
	if (fd < 0 || fstat(fd, &st) < 0)
		return; /* gone meanwhile, which is told */
	wake_folder(m, folder, fd, &st);
	w->woken_mount = (int)mount;
	memcpy(w->woken, folder, sizeof(folder));
}

/* Those who watch it are told IN_MODIFY. While it is open nobody can execute it, on the host too. */
static bool modify(struct wake *w, unsigned mount, const char *path, int fd, const struct stat *st)
{
	auto_close int file = -1;
	char link[40];

	if (w->zero.ring < 0 || (st->st_mode & 0111))
		return false;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	file = open(link, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (file < 0 || zero_write(&w->zero, file) < 0)
		return false;
	own_changes_not(w->own, mount, path);
	return true;
}

/* IN_ATTRIB: IN_MODIFY would be one of the host's file, too, and come back. False: its times would be others than they were. */
static bool touch(struct mount *m, int fd, const struct stat *st)
{
	struct timespec t[2] = { st->st_atim, st->st_mtim };

	if (m->kind == WAKE_9P && !is_recent(&st->st_mtim))
		return false;
	if (m->kind == WAKE_9P)
		t[0] = t[1] = (struct timespec){ .tv_nsec = UTIME_NOW };
	return set_times(fd, t) == 0;
}

static void changed(struct wake *w, unsigned mount, const char *path)
{
	struct mount *m = &w->mount[mount];
	auto_close int fd = beneath_open(m->root, path, O_PATH, true);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0 || own_changes_has(w->own, mount, path, &st.st_ctim))
		return;
	if (S_ISDIR(st.st_mode))
		wake_folder(m, path, fd, &st);
	else if (!S_ISREG(st.st_mode) || (!modify(w, mount, path, fd, &st) && !touch(m, fd, &st)))
		wake_parent(w, mount, path);
}

static void folder_is_here(struct wake *w, unsigned mount, const char *path)
{
	struct mount *m = &w->mount[mount];
	auto_close int fd = beneath_open(m->root, path, O_PATH | O_DIRECTORY, true);

	if (fd >= 0)
		own_changes_watch(w->own, mount, path, fd);
	if (m->kind != WAKE_9P || (fd >= 0 && held_put(w->held, mount, path, steal_fd(&fd)) == 0))
		return;
	/* Else it is gone meanwhile, or something else is mounted there. */
	if (errno == EMFILE || errno == ENFILE || errno == ENOMEM)
		complain(m, path);
}

static void folder_has_left(struct wake *w, unsigned mount, const char *path)
{
	own_changes_unwatch(w->own, mount, path);
	held_drop(w->held, mount, path);
}

static void take(struct wake *w, const struct fe_record *r)
{
	if (w->mount[r->mount].root < 0)
		return;
	if (r->kind != FE_GONE)
		w->woken_mount = -1;
	switch (r->kind) {
	case FE_HERE:
		folder_is_here(w, r->mount, r->path);
		break;
	case FE_LEFT:
		folder_has_left(w, r->mount, r->path);
		break;
	case FE_CHANGED:
		changed(w, r->mount, r->path);
		break;
	case FE_GONE:
		if (!own_changes_has(w->own, r->mount, r->path, NULL))
			wake_parent(w, r->mount, r->path);
		break;
	}
}

ssize_t wake_take(struct wake *w, const uint8_t *p, size_t n)
{
	size_t used = 0;
	ssize_t k;

	w->woken_mount = -1;
	while ((k = fe_unpack(&w->record, p + used, n - used)) > 0) {
		take(w, &w->record);
		used += (size_t)k;
	}
	return k < 0 ? -1 : (ssize_t)used;
}

/* --- the whole --- */

struct wake *wake_new(void)
{
	struct wake *w = calloc(1, sizeof(*w));
	struct err e;

	if (!w)
		return NULL;
	for (size_t i = 0; i < FE_MOUNTS_MAX; i++)
		w->mount[i].root = -1;
	if (zero_write_open(&w->zero, &e) < 0)
		log_warn("file events: watchers hear of attributes instead of content: %s", e.msg);
	w->own = own_changes_new();
	w->held = held_new(HELD_MAX);
	if (w->held)
		return w;
	wake_free(w);
	return NULL;
}

void wake_free(struct wake *w)
{
	for (size_t i = 0; i < FE_MOUNTS_MAX; i++)
		if (w->mount[i].root >= 0)
			close(w->mount[i].root);
	held_free(w->held);
	own_changes_free(w->own);
	zero_write_close(&w->zero);
	free(w);
}

void wake_mount(struct wake *w, unsigned mount, int root, enum wake_kind kind)
{
	w->mount[mount] = (struct mount){ .root = root, .kind = kind };
}

size_t wake_held(const struct wake *w)
{
	return held_count(w->held);
}

/* Waits for more of the host's, and learns meanwhile what the guest does. */
static ssize_t read_more(struct wake *w, int fd, uint8_t *p, size_t n)
{
	struct pollfd wait[] = { { .fd = fd, .events = POLLIN }, { .fd = own_changes_fd(w->own), .events = POLLIN } };

	do {
		if (poll(wait, 2, -1) > 0 && wait[1].revents)
			own_changes_read(w->own);
	} while (!wait[0].revents);
	return read(fd, p, n);
}

static int serve(struct wake *w, int fd)
{
	static uint8_t bytes[BYTES_MAX];
	size_t len = 0;

	for (;;) {
		ssize_t k = read_more(w, fd, bytes + len, sizeof(bytes) - len), used;

		if (k < 0 && errno == EINTR)
			continue;
		if (k <= 0)
			return 0;
		len += (size_t)k;
		used = wake_take(w, bytes, len);
		if (used < 0) {
			log_error("file events: the host says what is no record");
			return 1;
		}
		len -= (size_t)used;
		memmove(bytes, bytes + used, len);
	}
}

int wake_main(int fd, const struct settings *s)
{
	struct wake *w = wake_new();
	int status;

	if (!w)
		return 1;
	wake_mounts(w, s, fd);
	status = serve(w, fd);
	wake_free(w);
	return status;
}
