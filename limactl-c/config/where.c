#include "limactl-c/config/where.h"

#include <stdlib.h>
#include <string.h>

#include "lib/buf.h"
#include "limactl-c/base/mem.h"

enum { PATH_MAX_BYTES = 1 << 20 };

static void add_step(struct buf *b, const struct cfg_path *p)
{
	if (p->up)
		add_step(b, p->up);
	if (p->name)
		buf_addf(b, "%s%s", p->up ? "." : "", p->name);
	else
		buf_addf(b, "[%zu]", p->index);
}

char *cfg_path_text(const struct cfg_path *p)
{
	struct buf b = BUF_INIT(PATH_MAX_BYTES);

	if (p)
		add_step(&b, p);
	return b.data ? b.data : xstrdup("");
}

/* The key of map that path goes on with. Keys may hold dots themselves: the longest that fits is meant. */
static size_t find_key(const struct ynode *map, const char *path, size_t *len)
{
	size_t found = map->count;

	for (size_t i = 0; i < map->count; i++) {
		size_t n = map->key[i]->len;

		if (strncmp(map->key[i]->text, path, n) || (path[n] && path[n] != '.' && path[n] != '['))
			continue;
		if (found == map->count || n > *len) {
			found = i;
			*len = n;
		}
	}
	return found;
}

/* Where a look-up ended. */
struct spot {
	const struct ynode *key, *value; /* key NULL: not below a mapping */
	bool whole;                      /* the whole path is there */
	bool blocked;                    /* something is there that nothing can be below */
};

static struct spot look_up(const struct cfg *c, const char *path)
{
	struct spot s = { .value = c->given };

	while (s.value && *path) {
		const struct ynode *n = s.value;
		size_t i, len = 0;

		if (*path == '[' && n->kind == YN_LIST) {
			char *end;

			i = strtoul(path + 1, &end, 10);
			len = (size_t)(end + (*end == ']') - path);
		} else if (*path != '[' && n->kind == YN_MAP) {
			i = find_key(n, path, &len);
		} else {
			/* An entry of a list must be something; a key may be null. */
			s.blocked = n->kind != YN_NULL || !s.key;
			return s;
		}
		if (i >= n->count)
			return s;
		path += len;
		path += *path == '.';
		s.key = n->kind == YN_MAP ? n->key[i] : NULL;
		s.value = n->item[i];
	}
	s.whole = s.value;
	return s;
}

bool where_given(const struct cfg *c, const char *path)
{
	struct spot s = look_up(c, path);

	return s.blocked || (s.whole && s.value->kind != YN_NULL);
}

const struct ynode *where_node(const struct cfg *c, const char *path)
{
	struct spot s = look_up(c, path);

	return s.whole ? s.value : NULL;
}

static struct place place_or_file(const struct ynode *n, const char *name)
{
	return n && n->source ? yn_place(n) : (struct place){ name, 0, 0 };
}

struct place where_place(const struct cfg *c, const char *name, const char *path)
{
	struct spot s = look_up(c, path);

	return place_or_file(s.value == c->given ? NULL : s.value, name);
}

struct place where_key_place(const struct cfg *c, const char *name, const char *path)
{
	struct spot s = look_up(c, path);

	return place_or_file(s.key, name);
}
