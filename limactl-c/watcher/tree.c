#include "limactl-c/watcher/tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/beneath.h"
#include "lib/cleanup.h"
#include "lib/clock.h"
#include "lib/log.h"
#include "limactl-c/base/mem.h"
#include "limactl-c/watcher/branch.h"

enum {
	/* What the guest does to wake its own watchers is none of these, but for IN_MODIFY of a folder. */
	WATCHED = IN_MODIFY | IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO | IN_ONLYDIR | IN_EXCL_UNLINK,
	READ_SIZE = 64 * 1024,
	FILES_MOST = PENDING_MAX / 4, /* of one folder, told when it is read again; of more only the folder is */
};

/* The time of a file may be that much before the moment it was changed: a tick of the kernel. */
#define TICK_NS 20000000ULL

struct tree {
	struct pending *pending;
	unsigned mount;
	char *path;
	int root; /* the folder itself */
	int fd;   /* inotify */
	struct branches all;
	struct node again; /* folders that are still to be read again */
	unsigned round;    /* of that */
	uint64_t since;    /* ns since 1970, what was changed after it is told then; 0: nothing is read again */
	uint64_t calm;     /* the same: all that was changed before has been heard of */
	bool lost;         /* what came after it has not */
	bool full;         /* not all folders are watched, which was said */
};

static void tell(struct tree *t, enum fe_kind kind, const char *path)
{
	pending_put(t->pending, kind, t->mount, path, clock_ms());
}

static void tell_in(struct tree *t, enum fe_kind kind, const struct branch *f, const char *name)
{
	char path[FE_PATH_MAX + 1];

	if (branch_path(f, name, path))
		tell(t, kind, path);
}

/* --- folders that are not there any more --- */

static void forget(struct tree *t, struct branch *f)
{
	while (!list_empty(&f->children))
		forget(t, list_item(f->children.next, struct branch, in_parent));
	if (f->wd >= 0) {
		inotify_rm_watch(t->fd, f->wd);
		tell_in(t, FE_LEFT, f, NULL);
	}
	branch_free(&t->all, f);
}

/* Those that were not seen in this round. */
static void sweep(struct tree *t, struct branch *f)
{
	struct node *n = f->children.next;

	while (n != &f->children) {
		struct branch *child = list_item(n, struct branch, in_parent);

		n = n->next;
		if (child->round == t->round)
			sweep(t, child);
		else
			forget(t, child);
	}
}

/* --- reading --- */

static void say_full(struct tree *t, const char *why)
{
	if (!t->full)
		log_warn("file events: %s: only %zu folders are watched: %s", t->path, t->all.count - 1, why);
	t->full = true;
}

/* Whether f is still the folder that fd is. */
static bool is_there(struct tree *t, const struct branch *f, int fd)
{
	char path[FE_PATH_MAX + 1];
	auto_close int own = branch_path(f, NULL, path) ? beneath_open(t->root, path, O_PATH | O_DIRECTORY, false) : -1;
	struct stat a, b;

	return own >= 0 && fstat(own, &a) == 0 && fstat(fd, &b) == 0 && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

/* False: it is not watched. */
static bool watch(struct tree *t, struct branch *f, int fd)
{
	char link[40];
	struct branch *other;
	int wd;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	wd = inotify_add_watch(t->fd, link, WATCHED);
	if (wd < 0 && errno == ENOSPC)
		say_full(t, "raise the sysctl fs.inotify.max_user_watches");
	if (wd < 0 || wd == f->wd)
		return wd >= 0;
	other = branch_by_wd(&t->all, wd);
	if (other && is_there(t, other, fd))
		return false; /* the same folder, mounted at two places */
	if (other) { /* it was moved, which will be told */
		tell_in(t, FE_LEFT, other, NULL);
		branch_set_wd(&t->all, other, -1);
	}
	if (f->wd >= 0)
		inotify_rm_watch(t->fd, f->wd); /* another one has this name now */
	branch_set_wd(&t->all, f, wd);
	return true;
}

static bool is_folder(int dir, const struct dirent *d)
{
	struct stat st;

	if (d->d_type != DT_UNKNOWN)
		return d->d_type == DT_DIR;
	return fstatat(dir, d->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode);
}

static bool is_newer(const struct stat *st, uint64_t since)
{
	return (uint64_t)st->st_ctim.tv_sec * 1000000000ULL + (uint64_t)st->st_ctim.tv_nsec + TICK_NS >= since;
}

static void put_in_line(struct tree *t, struct node *line, struct branch *parent, const char *name, bool known)
{
	struct branch *f = known ? branch_child(parent, name) : NULL;

	if (!f && t->all.count > TREE_FOLDERS_MAX) {
		say_full(t, "there are too many");
		return;
	}
	if (!f)
		f = branch_add(&t->all, parent, name);
	if (!node_listed(&f->in_line))
		list_add(line, &f->in_line);
}

/* Of one of the names in a folder that is read again. */
static void compare(struct tree *t, struct branch *f, int dir, const char *name, uint64_t since, size_t *told)
{
	struct stat st;

	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0 || !is_newer(&st, since) || ++*told > FILES_MOST + 1)
		return;
	tell_in(t, FE_CHANGED, f, *told <= FILES_MOST ? name : NULL);
}

static void read_names(struct tree *t, struct node *line, struct branch *f, DIR *dir, uint64_t since)
{
	struct dirent *d;
	size_t told = 0;

	while ((d = readdir(dir))) {
		if (!strcmp(d->d_name, ".") || !strcmp(d->d_name, ".."))
			continue;
		if (is_folder(dirfd(dir), d))
			put_in_line(t, line, f, d->d_name, since);
		else if (since)
			compare(t, f, dirfd(dir), d->d_name, since, &told);
	}
}

/* since 0: the folder is new to us, and nobody needs to be told of what is in it. Those in it are put in line. False: it is not
 * there, or not for us. */
static bool read_folder(struct tree *t, struct node *line, struct branch *f, uint64_t since)
{
	char path[FE_PATH_MAX + 1];
	auto_close int fd = branch_path(f, NULL, path) ? beneath_open(t->root, path, O_RDONLY | O_DIRECTORY, false) : -1;
	auto_closedir DIR *dir = NULL;
	struct stat st;

	/* Watched before it is read: what comes between is heard of twice, which is told once. */
	if (fd < 0 || !watch(t, f, fd))
		return false;
	f->round = t->round;
	tell(t, FE_HERE, path);
	if (since && fstat(fd, &st) == 0 && is_newer(&st, since))
		tell(t, FE_CHANGED, path);
	dir = fdopendir(fd);
	if (dir) {
		steal_fd(&fd);
		read_names(t, line, f, dir, since);
	}
	return true;
}

static void read_next(struct tree *t, struct node *line, uint64_t since)
{
	struct branch *f = list_item(line->next, struct branch, in_line);

	list_del(&f->in_line);
	if (!read_folder(t, line, f, since) && f->parent)
		forget(t, f);
}

static void read_all(struct tree *t, struct node *line)
{
	while (!list_empty(line))
		read_next(t, line, 0);
}

/* --- what the kernel tells --- */

static void folder_came(struct tree *t, struct branch *parent, const char *name)
{
	struct branch *old = branch_child(parent, name);
	struct node line;

	list_init(&line);
	if (old)
		forget(t, old); /* its end is told later, or is not worth telling */
	put_in_line(t, &line, parent, name, false);
	read_all(t, &line);
	tell_in(t, FE_CHANGED, parent, name);
}

static void folder_went(struct tree *t, struct branch *parent, const char *name)
{
	struct branch *old = branch_child(parent, name);

	if (old)
		forget(t, old);
	tell_in(t, FE_GONE, parent, name);
}

static void on_event(struct tree *t, const struct inotify_event *ev)
{
	struct branch *f = ev->wd >= 0 ? branch_by_wd(&t->all, ev->wd) : NULL;

	if (ev->mask & IN_Q_OVERFLOW)
		t->lost = true;
	if (!f)
		return;
	if (ev->mask & (IN_IGNORED | IN_UNMOUNT)) {
		if (f->parent) /* the shared folder is held: its watch stays, whatever becomes of it */
			forget(t, f);
	} else if (!ev->len) {
		return; /* of the folder itself: of one below it is heard by its parent */
	} else if (!(ev->mask & IN_ISDIR)) {
		tell_in(t, ev->mask & (IN_DELETE | IN_MOVED_FROM) ? FE_GONE : FE_CHANGED, f, ev->name);
	} else if (ev->mask & (IN_CREATE | IN_MOVED_TO)) {
		folder_came(t, f, ev->name);
	} else if (ev->mask & (IN_DELETE | IN_MOVED_FROM)) {
		folder_went(t, f, ev->name);
	}
}

void tree_read(struct tree *t)
{
	char bytes[READ_SIZE] __attribute__((aligned(__alignof__(struct inotify_event))));

	for (;;) {
		uint64_t before = clock_real_ns();
		ssize_t k = read(t->fd, bytes, sizeof(bytes));

		if (k < 0 && errno == EINTR)
			continue;
		if (k <= 0) {
			if (!t->lost)
				t->calm = before;
			return;
		}
		for (char *p = bytes; p < bytes + k;) {
			const struct inotify_event *ev = (const struct inotify_event *)(void *)p;

			on_event(t, ev);
			p += sizeof(*ev) + ev->len;
		}
	}
}

void tree_lose(struct tree *t, uint64_t since)
{
	t->lost = true;
	if (since < t->calm)
		t->calm = since;
}

bool tree_lost(const struct tree *t)
{
	return t->lost || t->since;
}

void tree_catch_up(struct tree *t)
{
	if (!t->since) {
		log_info("file events: %s: more was changed than could be followed; it is read again", t->path);
		t->since = t->calm;
		t->calm = clock_real_ns();
		t->lost = false;
		t->round++;
		list_add(&t->again, &t->all.root->in_line);
	}
	while (!list_empty(&t->again) && pending_room(t->pending))
		read_next(t, &t->again, t->since);
	if (!list_empty(&t->again))
		return;
	t->since = 0;
	sweep(t, t->all.root);
}

/* --- the whole --- */

static int begin(struct tree *t, struct err *e)
{
	struct node line;

	list_init(&line);
	t->root = open(t->path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (t->root < 0)
		return err_errno(e, "%s", t->path);
	t->fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	if (t->fd < 0)
		return err_errno(e, "%s: inotify (see the sysctl fs.inotify.max_user_instances)", t->path);
	if (!read_folder(t, &line, t->all.root, 0))
		return err_set(e, ERR_STATE, "%s: this folder cannot be read or watched", t->path);
	read_all(t, &line);
	return 0;
}

struct tree *tree_new(struct pending *p, unsigned mount, const char *path, struct err *e)
{
	struct tree *t = xcalloc(1, sizeof(*t));

	t->pending = p;
	t->mount = mount;
	t->path = xstrdup(path);
	t->root = t->fd = -1;
	list_init(&t->again);
	branches_init(&t->all);
	t->calm = clock_real_ns();
	if (begin(t, e) == 0)
		return t;
	tree_free(t);
	return NULL;
}

void tree_free(struct tree *t)
{
	if (!t)
		return;
	branches_fini(&t->all);
	if (t->root >= 0)
		close(t->root);
	if (t->fd >= 0)
		close(t->fd);
	free(t->path);
	free(t);
}

int tree_fd(const struct tree *t)
{
	return t->fd;
}
