#include "guestagent/held.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BUCKETS_FIRST = 64 };

struct folder {
	struct folder *next; /* in its bucket */
	uint32_t hash;
	int fd;
	unsigned mount;
	char path[];
};

struct held {
	struct folder **bucket;
	size_t buckets, count, max; /* buckets: a power of two */
};

static uint32_t hash_of(unsigned mount, const char *path)
{
	uint32_t h = 2166136261u ^ mount;

	for (; *path; path++)
		h = (h ^ (uint8_t)*path) * 16777619u;
	return h;
}

/* Where the pointer to it is, or would be. */
static struct folder **find(struct held *h, unsigned mount, const char *path)
{
	uint32_t hash = hash_of(mount, path);
	struct folder **at = &h->bucket[hash & (h->buckets - 1)];

	while (*at && ((*at)->hash != hash || (*at)->mount != mount || strcmp((*at)->path, path) != 0))
		at = &(*at)->next;
	return at;
}

/* Without memory for it the old ones do, only slower. */
static void grow(struct held *h)
{
	size_t n = 2 * h->buckets;
	struct folder **more = calloc(n, sizeof(*more));

	for (size_t i = 0; more && i < h->buckets; i++) {
		while (h->bucket[i]) {
			struct folder *f = h->bucket[i], **to = &more[f->hash & (n - 1)];

			h->bucket[i] = f->next;
			f->next = *to;
			*to = f;
		}
	}
	if (!more)
		return;
	free(h->bucket);
	h->bucket = more;
	h->buckets = n;
}

struct held *held_new(size_t max)
{
	struct held *h = calloc(1, sizeof(*h));

	if (!h)
		return NULL;
	h->max = max;
	h->buckets = BUCKETS_FIRST;
	h->bucket = calloc(h->buckets, sizeof(*h->bucket));
	if (h->bucket)
		return h;
	free(h);
	return NULL;
}

static void remove_at(struct held *h, struct folder **at)
{
	struct folder *f = *at;

	*at = f->next;
	close(f->fd);
	free(f);
	h->count--;
}

void held_free(struct held *h)
{
	if (!h)
		return;
	for (size_t i = 0; i < h->buckets; i++)
		while (h->bucket[i])
			remove_at(h, &h->bucket[i]);
	free(h->bucket);
	free(h);
}

int held_put(struct held *h, unsigned mount, const char *path, int fd)
{
	struct folder *f = *find(h, mount, path), **at;
	size_t n = strlen(path) + 1;

	if (f) {
		/* The new one is open already: of a folder that is the same, nothing was let go. */
		close(f->fd);
		f->fd = fd;
		return 0;
	}
	f = h->count < h->max ? calloc(1, sizeof(*f) + n) : NULL;
	if (!f) {
		close(fd);
		errno = h->count < h->max ? ENOMEM : EMFILE;
		return -1;
	}
	if (h->count++ == h->buckets)
		grow(h);
	*f = (struct folder){ .hash = hash_of(mount, path), .fd = fd, .mount = mount };
	memcpy(f->path, path, n);
	at = &h->bucket[f->hash & (h->buckets - 1)];
	f->next = *at;
	*at = f;
	return 0;
}

void held_drop(struct held *h, unsigned mount, const char *path)
{
	struct folder **at = find(h, mount, path);

	if (*at)
		remove_at(h, at);
}

size_t held_count(const struct held *h)
{
	return h->count;
}
