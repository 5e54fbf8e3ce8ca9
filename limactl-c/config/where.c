#include "limactl-c/config/where.h"

#include <stdlib.h>
#include <string.h>

#include "lib/cleanup.h"
#include "limactl-c/base/mem.h"

void where_add(struct cfg *c, const char *path, struct place at)
{
	if (!(c->wheres & (c->wheres - 1)))
		c->where = xrealloc_array(c->where, c->wheres ? 2 * c->wheres : 1,
					  sizeof(*c->where));
	c->where[c->wheres++] = (struct cfg_where){
		.path = xstrdup(path),
		.file = xstrdup(at.file),
		.line = at.line,
		.column = at.column,
	};
}

static int by_path(const void *a, const void *b)
{
	const struct cfg_where *x = a, *y = b;

	return strcmp(x->path, y->path);
}

void where_sort(struct cfg *c)
{
	if (c->wheres)
		qsort(c->where, c->wheres, sizeof(*c->where), by_path);
}

static const struct cfg_where *find(const struct cfg *c, char *path)
{
	const struct cfg_where key = { .path = path };

	return c->wheres ? bsearch(&key, c->where, c->wheres, sizeof(key), by_path) : NULL;
}

bool where_given(const struct cfg *c, const char *path)
{
	auto_free char *copy = xstrdup(path);

	return find(c, copy);
}

struct place where_place(const struct cfg *c, const char *name, const char *path)
{
	auto_free char *copy = xstrdup(path);

	for (char *end = copy + strlen(copy); end > copy; end--) {
		const struct cfg_where *w;

		if (*end && *end != '.' && *end != '[')
			continue;
		*end = '\0';
		w = find(c, copy);
		if (w)
			return (struct place){ w->file, w->line, w->column };
	}
	return (struct place){ name, 0, 0 };
}

void where_free(struct cfg *c)
{
	for (size_t i = 0; i < c->wheres; i++) {
		free(c->where[i].path);
		free(c->where[i].file);
	}
	free(c->where);
	c->where = NULL;
	c->wheres = 0;
}
