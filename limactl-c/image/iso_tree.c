#include "limactl-c/image/iso_tree.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "limactl-c/base/mem.h"
#include "limactl-c/image/iso_write.h"

/* A node while the tree grows: siblings are told apart by their whole path. */
struct grown {
	char *path;
	const struct manifest_file *file; /* NULL: a folder */
	size_t depth;
};
struct growth {
	struct grown *item;
	size_t count;
};

static void growth_free(struct growth *g)
{
	for (size_t i = 0; i < g->count; i++)
		free(g->item[i].path);
	free(g->item);
}

static size_t depth_of(const char *path)
{
	size_t n = *path != '\0';

	for (; *path; path++)
		n += *path == '/';
	return n;
}

static int add(struct growth *g, const char *path, size_t len, const struct manifest_file *file, struct err *e)
{
	for (size_t i = 0; i < g->count; i++) {
		if (strlen(g->item[i].path) != len || strncmp(g->item[i].path, path, len))
			continue;
		if (!file && !g->item[i].file)
			return 0;
		return err_set(e, ERR_INVALID, "%.*s is listed twice", (int)len, path);
	}
	g->item = xrealloc_array(g->item, g->count + 1, sizeof(*g->item));
	g->item[g->count] = (struct grown){ xstrndup(path, len), file, 0 };
	g->item[g->count].depth = depth_of(g->item[g->count].path);
	g->count++;
	return 0;
}

static int add_with_folders(struct growth *g, const struct manifest_file *file, struct err *e)
{
	const char *path = file->guest_path;

	if (depth_of(path) > ISO_DEPTH_MAX)
		return err_set(e, ERR_INVALID, "%s lies more than %d folders deep", path, ISO_DEPTH_MAX);
	for (const char *p = path, *slash; (slash = strchr(p, '/')); p = slash + 1) {
		if (slash - p > ISO_NAME_MAX)
			return err_set(e, ERR_INVALID, "%s: a name is longer than %d bytes", path, ISO_NAME_MAX);
		if (add(g, path, (size_t)(slash - path), NULL, e) < 0)
			return -1;
	}
	if (strlen(strrchr(path, '/') ? strrchr(path, '/') + 1 : path) > ISO_NAME_MAX)
		return err_set(e, ERR_INVALID, "%s: the name is longer than %d bytes", path, ISO_NAME_MAX);
	return add(g, path, strlen(path), file, e);
}

static int by_place(const void *a, const void *b)
{
	const struct grown *x = a, *y = b;

	if (!x->file != !y->file)
		return x->file ? 1 : -1;
	if (x->depth != y->depth)
		return x->depth < y->depth ? -1 : 1;
	return strcmp(x->path, y->path);
}

static size_t find_folder(const struct growth *g, const char *path, size_t len)
{
	size_t i = 0;

	while (strlen(g->item[i].path) != len || strncmp(g->item[i].path, path, len))
		i++;
	return i;
}

static int make_node(const struct growth *g, size_t i, struct iso_node *n, struct err *e)
{
	const struct grown *from = &g->item[i];
	const char *slash = strrchr(from->path, '/');
	struct stat st;

	n->name = xstrdup(slash ? slash + 1 : from->path);
	n->parent = find_folder(g, from->path, slash ? (size_t)(slash - from->path) : 0);
	n->mode = 0755;
	if (!from->file)
		return 0;
	n->mode = from->file->mode;
	n->host_path = from->file->host_path;
	if (stat(n->host_path, &st) < 0)
		return err_errno(e, "cannot open %s", n->host_path);
	if (!S_ISREG(st.st_mode) || st.st_size > UINT32_MAX)
		return err_set(e, ERR_INVALID, "%s is no regular file of less than 4 GiB", n->host_path);
	n->size = (uint64_t)st.st_size;
	return 0;
}

int iso_tree_build(struct iso_tree *t, const struct manifest *m, struct err *e)
{
	CLEANUP(growth_free) struct growth g = { 0 };

	if (add(&g, "", 0, NULL, e) < 0)
		return -1;
	for (size_t i = 0; i < m->files; i++) {
		if (add_with_folders(&g, &m->file[i], e) < 0)
			return -1;
	}
	qsort(g.item, g.count, sizeof(*g.item), by_place);
	t->node = xcalloc(g.count, sizeof(*t->node));
	for (t->nodes = 0; t->nodes < g.count; t->nodes++) {
		t->folders += !g.item[t->nodes].file;
		if (make_node(&g, t->nodes, &t->node[t->nodes], e) < 0) {
			t->nodes++;
			return -1;
		}
	}
	return 0;
}

void iso_tree_free(struct iso_tree *t)
{
	for (size_t i = 0; i < t->nodes; i++)
		free(t->node[i].name);
	free(t->node);
	*t = (struct iso_tree)ISO_TREE_INIT;
}
