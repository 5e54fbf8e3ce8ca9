#include "limactl-c/watcher/branch.h"

#include <stdlib.h>
#include <string.h>

#include "limactl-c/base/mem.h"

enum { BUCKETS_FIRST = 64 };

static struct branch **place_of(const struct branches *all, int wd)
{
	return &all->bucket[(unsigned)wd & (all->buckets - 1)];
}

static void put(struct branches *all, struct branch *f)
{
	struct branch **at = place_of(all, f->wd);

	f->next = *at;
	*at = f;
}

static void grow(struct branches *all)
{
	struct branch **old = all->bucket;
	size_t n = all->buckets;

	all->buckets = n ? 2 * n : BUCKETS_FIRST;
	all->bucket = xcalloc(all->buckets, sizeof(*all->bucket));
	for (size_t i = 0; i < n; i++) {
		while (old[i]) {
			struct branch *f = old[i];

			old[i] = f->next;
			put(all, f);
		}
	}
	free(old);
}

void branches_init(struct branches *all)
{
	*all = (struct branches){ 0 };
	grow(all);
	all->root = branch_add(all, NULL, "");
}

struct branch *branch_add(struct branches *all, struct branch *parent, const char *name)
{
	size_t n = strlen(name) + 1;
	struct branch *f = xcalloc(1, sizeof(*f) + n);

	if (all->count++ == all->buckets)
		grow(all);
	f->parent = parent;
	f->wd = -1;
	memcpy(f->name, name, n);
	list_init(&f->children);
	if (parent)
		list_add(&parent->children, &f->in_parent);
	return f;
}

void branch_free(struct branches *all, struct branch *f)
{
	branch_set_wd(all, f, -1);
	list_del(&f->in_parent);
	list_del(&f->in_line);
	all->count--;
	free(f);
}

static void free_all(struct branches *all, struct branch *f)
{
	while (!list_empty(&f->children))
		free_all(all, list_item(f->children.next, struct branch, in_parent));
	branch_free(all, f);
}

void branches_fini(struct branches *all)
{
	if (all->root)
		free_all(all, all->root);
	free(all->bucket);
}

struct branch *branch_child(const struct branch *f, const char *name)
{
	for (const struct node *n = f->children.prev; n != &f->children; n = n->prev) {
		struct branch *child = list_item(n, struct branch, in_parent);

		if (!strcmp(child->name, name))
			return child;
	}
	return NULL;
}

struct branch *branch_by_wd(const struct branches *all, int wd)
{
	struct branch *f = *place_of(all, wd);

	while (f && f->wd != wd)
		f = f->next;
	return f;
}

void branch_set_wd(struct branches *all, struct branch *f, int wd)
{
	if (f->wd >= 0) {
		struct branch **at = place_of(all, f->wd);

		while (*at != f)
			at = &(*at)->next;
		*at = f->next;
	}
	f->wd = wd;
	if (wd >= 0)
		put(all, f);
}

/* From its end to its beginning. */
static bool prepend(char *buf, size_t *at, const char *name)
{
	size_t n = strlen(name);

	if (n + 1 > *at)
		return false;
	*at -= n;
	memcpy(buf + *at, name, n);
	buf[--*at] = '/';
	return true;
}

bool branch_path(const struct branch *f, const char *name, char path[FE_PATH_MAX + 1])
{
	char buf[FE_PATH_MAX + 1]; /* one byte more than the path has: the slash before it */
	size_t at = sizeof(buf);

	if (name && !prepend(buf, &at, name))
		return false;
	for (; f->parent; f = f->parent)
		if (!prepend(buf, &at, f->name))
			return false;
	if (at < sizeof(buf))
		at++;
	memcpy(path, buf + at, sizeof(buf) - at);
	path[sizeof(buf) - at] = '\0';
	return true;
}
