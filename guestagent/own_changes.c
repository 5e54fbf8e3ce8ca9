#include "guestagent/own_changes.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

enum {
	WATCHED = IN_MODIFY | IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO | IN_ONLYDIR,
	SLOTS = 8192,       /* a power of two */
	BUCKETS = 4096,     /* the same */
	READ_SIZE = 16 * 1024,
	SLACK_MS = 100,     /* the clocks of host and guest differ by no more (clock_sync.h) */
	GONE_MS = 500,      /* a removal is told within that */
};

struct change {
	uint64_t key; /* 0: none */
	int64_t at;   /* ms since 1970 */
};

struct folder {
	struct folder *next_wd, *next_path; /* in their buckets */
	int wd;
	uint64_t key; /* of its path */
	unsigned mount;
	char path[];
};

struct own_changes {
	int fd;
	struct change slot[SLOTS];
	struct folder *by_wd[BUCKETS], *by_path[BUCKETS];
};

static int64_t to_ms(const struct timespec *t)
{
	return (int64_t)t->tv_sec * 1000 + t->tv_nsec / 1000000;
}

static int64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return to_ms(&t);
}

static uint64_t add_text(uint64_t key, const char *text)
{
	for (; *text; text++)
		key = (key ^ (uint8_t)*text) * 1099511628211ULL;
	return key;
}

/* Of path, or of name in the folder at path. Not 0. */
static uint64_t key_of(unsigned mount, const char *path, const char *name)
{
	uint64_t key = add_text(14695981039346656037ULL ^ mount, path);

	if (name)
		key = add_text(*path ? add_text(key, "/") : key, name);
	return key ? key : 1;
}

static struct change *slot_of(struct own_changes *o, uint64_t key)
{
	return &o->slot[(key ^ key >> 32) & (SLOTS - 1)];
}

/* --- folders --- */

static struct folder *by_wd(struct own_changes *o, int wd)
{
	struct folder *f = o->by_wd[(unsigned)wd & (BUCKETS - 1)];

	while (f && f->wd != wd)
		f = f->next_wd;
	return f;
}

static struct folder *by_path(struct own_changes *o, unsigned mount, const char *path)
{
	uint64_t key = key_of(mount, path, NULL);
	struct folder *f = o->by_path[key & (BUCKETS - 1)];

	while (f && (f->key != key || f->mount != mount || strcmp(f->path, path) != 0))
		f = f->next_path;
	return f;
}

static void forget(struct own_changes *o, struct folder *f)
{
	struct folder **at = &o->by_wd[(unsigned)f->wd & (BUCKETS - 1)];

	while (*at != f)
		at = &(*at)->next_wd;
	*at = f->next_wd;
	at = &o->by_path[f->key & (BUCKETS - 1)];
	while (*at != f)
		at = &(*at)->next_path;
	*at = f->next_path;
	free(f);
}

void own_changes_unwatch(struct own_changes *o, unsigned mount, const char *path)
{
	struct folder *f = o ? by_path(o, mount, path) : NULL;

	if (!f)
		return;
	inotify_rm_watch(o->fd, f->wd);
	forget(o, f);
}

void own_changes_watch(struct own_changes *o, unsigned mount, const char *path, int dir)
{
	size_t n = strlen(path) + 1;
	struct folder *f, **to;
	char link[40];
	int wd;

	if (!o)
		return;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", dir);
	wd = inotify_add_watch(o->fd, link, WATCHED);
	f = by_path(o, mount, path);
	if (wd < 0 || (f && f->wd == wd))
		return;
	if (f)
		own_changes_unwatch(o, mount, path); /* another folder has this name now */
	f = by_wd(o, wd);
	if (f)
		forget(o, f); /* it was somewhere else */
	f = calloc(1, sizeof(*f) + n);
	if (!f)
		return;
	*f = (struct folder){ .wd = wd, .key = key_of(mount, path, NULL), .mount = mount };
	memcpy(f->path, path, n);
	to = &o->by_wd[(unsigned)wd & (BUCKETS - 1)];
	f->next_wd = *to;
	*to = f;
	to = &o->by_path[f->key & (BUCKETS - 1)];
	f->next_path = *to;
	*to = f;
}

/* --- what was changed --- */

static void note(struct own_changes *o, const struct inotify_event *ev, int64_t now)
{
	struct folder *f = by_wd(o, ev->wd);
	struct change *c;
	uint64_t key;

	if (f && (ev->mask & IN_IGNORED))
		forget(o, f);
	/* That a folder is modified is what we do to wake others. */
	if (!f || (ev->mask & IN_IGNORED) || !ev->len || ((ev->mask & IN_ISDIR) && (ev->mask & IN_MODIFY)))
		return;
	key = key_of(f->mount, f->path, ev->name);
	c = slot_of(o, key);
	*c = (struct change){ key, now };
}

int own_changes_fd(const struct own_changes *o)
{
	return o ? o->fd : -1;
}

void own_changes_read(struct own_changes *o)
{
	char bytes[READ_SIZE] __attribute__((aligned(__alignof__(struct inotify_event))));
	int64_t now = now_ms();
	ssize_t k;

	if (!o)
		return;
	while ((k = read(o->fd, bytes, sizeof(bytes))) > 0 || (k < 0 && errno == EINTR)) {
		for (char *p = bytes; p < bytes + k;) {
			const struct inotify_event *ev = (const struct inotify_event *)(void *)p;

			note(o, ev, now);
			p += sizeof(*ev) + ev->len;
		}
	}
}

bool own_changes_has(struct own_changes *o, unsigned mount, const char *path, const struct timespec *when)
{
	uint64_t key = key_of(mount, path, NULL);
	const struct change *c;

	if (!o)
		return false;
	own_changes_read(o);
	c = slot_of(o, key);
	if (c->key != key)
		return false;
	return when ? to_ms(when) <= c->at + SLACK_MS : now_ms() <= c->at + GONE_MS;
}

void own_changes_not(struct own_changes *o, unsigned mount, const char *path)
{
	uint64_t key = key_of(mount, path, NULL);

	if (!o)
		return;
	own_changes_read(o);
	if (slot_of(o, key)->key == key)
		slot_of(o, key)->key = 0;
}

struct own_changes *own_changes_new(void)
{
	struct own_changes *o = calloc(1, sizeof(*o));

	if (!o)
		return NULL;
	o->fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	if (o->fd >= 0)
		return o;
	free(o);
	return NULL;
}

void own_changes_free(struct own_changes *o)
{
	if (!o)
		return;
	for (size_t i = 0; i < BUCKETS; i++)
		while (o->by_wd[i])
			forget(o, o->by_wd[i]);
	close(o->fd);
	free(o);
}
