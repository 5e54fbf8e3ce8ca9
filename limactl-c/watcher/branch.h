/* branch.h - the folders of a watched tree: by place and by watch. For tree.c. */
#ifndef LIMA_WATCHER_BRANCH_H
#define LIMA_WATCHER_BRANCH_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/fevent.h"
#include "lib/list.h"

struct branch {
	struct branch *parent; /* NULL: the shared folder itself */
	struct node children, in_parent;
	struct node in_line;   /* of those to be read */
	struct branch *next;   /* in its bucket */
	int wd;                /* -1: not watched */
	unsigned round;        /* of reading, in which it was seen last */
	char name[];
};

struct branches {
	struct branch *root;
	struct branch **bucket; /* by wd */
	size_t buckets, count;  /* buckets: a power of two */
};

void branches_init(struct branches *all);
void branches_fini(struct branches *all);
struct branch *branch_add(struct branches *all, struct branch *parent, const char *name);
void branch_free(struct branches *all, struct branch *f); /* has no children */
struct branch *branch_child(const struct branch *f, const char *name); /* the newest of that name; NULL: none */
struct branch *branch_by_wd(const struct branches *all, int wd);
void branch_set_wd(struct branches *all, struct branch *f, int wd); /* -1: none any more */
/* The path below the root, with "/name" behind it unless name is NULL. False: it is too long. */
bool branch_path(const struct branch *f, const char *name, char path[FE_PATH_MAX + 1]);

#endif
