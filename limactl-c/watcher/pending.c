#include "limactl-c/watcher/pending.h"

#include <stdlib.h>
#include <string.h>

#include "lib/list.h"
#include "limactl-c/base/mem.h"

enum { BUCKETS_FIRST = 256 };

struct change {
	struct node in_order;
	struct change *next; /* in its bucket */
	uint32_t hash;
	uint8_t kind, mount;
	char path[];
};

struct pending {
	struct node order;
	struct change **bucket;
	size_t buckets, count; /* a power of two */
	size_t limited;        /* of them, those that PENDING_MAX is about */
	int64_t first, last;   /* when the oldest and the newest came */
	bool dropped;
};

static bool of_folders(unsigned kind)
{
	return kind == FE_HERE || kind == FE_LEFT;
}

static uint32_t hash_of(unsigned kind, unsigned mount, const char *path)
{
	uint32_t h = 2166136261u ^ (mount * 2 + of_folders(kind));

	for (; *path; path++)
		h = (h ^ (uint8_t)*path) * 16777619u;
	return h;
}

static struct change **place_of(struct pending *p, uint32_t hash)
{
	return &p->bucket[hash & (p->buckets - 1)];
}

static void grow(struct pending *p)
{
	struct change **old = p->bucket;
	size_t n = p->buckets;

	p->buckets = n ? 2 * n : BUCKETS_FIRST;
	p->bucket = xcalloc(p->buckets, sizeof(*p->bucket));
	for (size_t i = 0; i < n; i++) {
		while (old[i]) {
			struct change *c = old[i], **to = place_of(p, c->hash);

			old[i] = c->next;
			c->next = *to;
			*to = c;
		}
	}
	free(old);
}

static struct change *find(struct pending *p, uint32_t hash, unsigned kind, unsigned mount, const char *path)
{
	for (struct change *c = p->count ? *place_of(p, hash) : NULL; c; c = c->next)
		if (c->hash == hash && c->mount == mount && of_folders(c->kind) == of_folders(kind) && !strcmp(c->path, path))
			return c;
	return NULL;
}

static struct change *add(struct pending *p, uint32_t hash, unsigned mount, const char *path)
{
	size_t n = strlen(path) + 1;
	struct change *c = xcalloc(1, sizeof(*c) + n), **to;

	if (p->count == p->buckets)
		grow(p);
	c->hash = hash;
	c->kind = FE_HERE;
	c->mount = (uint8_t)mount;
	memcpy(c->path, path, n);
	to = place_of(p, hash);
	c->next = *to;
	*to = c;
	p->count++;
	return c;
}

static void drop(struct pending *p, struct change *c)
{
	struct change **at = place_of(p, c->hash);

	while (*at != c)
		at = &(*at)->next;
	*at = c->next;
	list_del(&c->in_order);
	p->limited -= c->kind != FE_HERE;
	free(c);
	if (--p->count)
		return;
	/* A burst is over; what it needed is not kept. */
	free(p->bucket);
	p->bucket = NULL;
	p->buckets = 0;
}

static struct change *oldest(struct pending *p)
{
	return list_item(p->order.next, struct change, in_order);
}

static void clear(struct pending *p)
{
	while (!pending_empty(p))
		drop(p, oldest(p));
}

struct pending *pending_new(void)
{
	struct pending *p = xcalloc(1, sizeof(*p));

	list_init(&p->order);
	return p;
}

void pending_free(struct pending *p)
{
	if (!p)
		return;
	clear(p);
	free(p);
}

void pending_put(struct pending *p, enum fe_kind kind, unsigned mount, const char *path, int64_t now)
{
	uint32_t hash = hash_of(kind, mount, path);
	struct change *c = find(p, hash, kind, mount, path);

	if (pending_empty(p))
		p->first = now;
	p->last = now;
	if (!c)
		c = add(p, hash, mount, path);
	p->limited += (kind != FE_HERE) - (size_t)(c->kind != FE_HERE);
	c->kind = (uint8_t)kind;
	/* At the end: a folder that is new is told after it and those in it are there. */
	list_del(&c->in_order);
	list_add(&p->order, &c->in_order);
	if (p->limited <= PENDING_MAX)
		return;
	clear(p);
	p->dropped = true;
}

bool pending_dropped(struct pending *p)
{
	bool dropped = p->dropped;

	p->dropped = false;
	return dropped;
}

bool pending_empty(const struct pending *p)
{
	return list_empty(&p->order);
}

bool pending_room(const struct pending *p)
{
	return p->limited < PENDING_MAX / 2;
}

int pending_wait(const struct pending *p, int64_t now)
{
	int64_t at = p->last + PENDING_QUIET_MS, most = p->first + PENDING_MOST_MS;

	if (pending_empty(p))
		return -1;
	if (at > most)
		at = most;
	return at > now ? (int)(at - now) : 0;
}

size_t pending_take(struct pending *p, uint8_t *out, size_t n)
{
	size_t used = 0;

	while (!pending_empty(p)) {
		struct change *c = oldest(p);

		if (n - used < FE_HEADER + strlen(c->path))
			break;
		used += fe_pack((enum fe_kind)c->kind, c->mount, c->path, out + used);
		drop(p, c);
	}
	return used;
}
