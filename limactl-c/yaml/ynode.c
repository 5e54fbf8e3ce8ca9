#include "limactl-c/yaml/ynode.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "limactl-c/base/mem.h"

enum { CHUNK_SIZE = 16384, ALIGN = 16 };

struct chunk {
	struct chunk *next;
	size_t used, size;
	_Alignas(ALIGN) char data[];
};
struct yn_pool {
	struct chunk *chunks;
	size_t total;
};

struct yn_pool *yn_pool_new(void)
{
	return xcalloc(1, sizeof(struct yn_pool));
}

void yn_pool_free(struct yn_pool *p)
{
	if (!p)
		return;
	for (struct chunk *c = p->chunks, *next; c; c = next) {
		next = c->next;
		free(c);
	}
	free(p);
}

size_t yn_pool_size(const struct yn_pool *p)
{
	return p->total;
}

void *yn_alloc(struct yn_pool *p, size_t size)
{
	struct chunk *c = p->chunks;
	size_t need = (size + ALIGN - 1) & ~(size_t)(ALIGN - 1);
	void *out;

	if (!c || c->size - c->used < need) {
		size_t room = need > CHUNK_SIZE ? need : CHUNK_SIZE;

		c = xcalloc(1, sizeof(*c) + room);
		c->size = room;
		c->next = p->chunks;
		p->chunks = c;
	}
	out = c->data + c->used;
	c->used += need;
	p->total += need;
	return out;
}

char *yn_strndup(struct yn_pool *p, const char *s, size_t n)
{
	char *out = yn_alloc(p, n + 1);

	if (n)
		memcpy(out, s, n);
	return out;
}

char *yn_printf(struct yn_pool *p, const char *fmt, ...)
{
	va_list ap, again;
	char *out;
	int n;

	va_start(ap, fmt);
	va_copy(again, ap);
	n = vsnprintf(NULL, 0, fmt, ap);
	out = yn_alloc(p, (size_t)n + 1);
	vsnprintf(out, (size_t)n + 1, fmt, again);
	va_end(again);
	va_end(ap);
	return out;
}

static struct ynode *new_node(struct yn_pool *p, enum yn_kind kind)
{
	struct ynode *n = yn_alloc(p, sizeof(*n));

	n->kind = kind;
	n->weight = 1;
	return n;
}

struct ynode *yn_scalar(struct yn_pool *p, enum yn_kind kind, const char *text, size_t len)
{
	struct ynode *n = new_node(p, kind);

	n->text = yn_strndup(p, text, len);
	n->len = len;
	return n;
}

struct ynode *yn_string(struct yn_pool *p, const char *text)
{
	return yn_scalar(p, YN_STRING, text, strlen(text));
}

struct ynode *yn_null(struct yn_pool *p)
{
	return yn_scalar(p, YN_NULL, "null", 4);
}

struct ynode *yn_bool(struct yn_pool *p, bool b)
{
	return yn_scalar(p, YN_BOOL, b ? "true" : "false", b ? 4 : 5);
}

struct ynode *yn_int(struct yn_pool *p, int64_t n)
{
	char text[24];
	int len = snprintf(text, sizeof(text), "%" PRId64, n);

	return yn_scalar(p, YN_INT, text, (size_t)len);
}

struct ynode *yn_list(struct yn_pool *p)
{
	return new_node(p, YN_LIST);
}

struct ynode *yn_map(struct yn_pool *p)
{
	return new_node(p, YN_MAP);
}

const struct ynode *yn_origin(const struct ynode *n)
{
	return n->origin ? n->origin : n->source ? n : NULL;
}

struct ynode *yn_copy(struct yn_pool *p, const struct ynode *n)
{
	struct ynode *out = yn_alloc(p, sizeof(*out));

	*out = *n;
	out->origin = yn_origin(n);
	out->room = n->count;
	out->item = yn_alloc(p, n->count * sizeof(*out->item));
	out->key = n->key ? yn_alloc(p, n->count * sizeof(*out->key)) : NULL;
	for (size_t i = 0; i < n->count; i++) {
		out->item[i] = yn_copy(p, n->item[i]);
		if (n->key)
			out->key[i] = yn_copy(p, n->key[i]);
	}
	return out;
}

void yn_stand_for(struct ynode *made, const struct ynode *given)
{
	made->source = given->source;
	made->line = given->line;
	made->column = given->column;
	made->start = given->start;
	made->end = given->end;
	made->origin = yn_origin(given);
}

bool yn_is_scalar(const struct ynode *n)
{
	return n->kind != YN_LIST && n->kind != YN_MAP;
}

bool yn_same(const struct ynode *a, const struct ynode *b)
{
	if (a->kind != b->kind || a->count != b->count)
		return false;
	/* Every way to write nothing is the same nothing. */
	if (a->kind != YN_NULL && (a->len != b->len || (a->len && memcmp(a->text, b->text, a->len))))
		return false;
	for (size_t i = 0; i < a->count; i++) {
		if ((a->key && !yn_same(a->key[i], b->key[i])) || !yn_same(a->item[i], b->item[i]))
			return false;
	}
	return true;
}

struct place yn_place(const struct ynode *n)
{
	return (struct place){ n->source ? n->source->name : NULL, n->line, n->column };
}

const char *yn_kind_word(enum yn_kind kind)
{
	static const char *const word[] = {
		[YN_NULL] = "nothing",   [YN_BOOL] = "true or false", [YN_INT] = "a whole number",
		[YN_FLOAT] = "a number", [YN_STRING] = "text",        [YN_LIST] = "a list",
		[YN_MAP] = "a mapping",
	};

	return word[kind];
}

size_t yn_find(const struct ynode *map, const char *key, size_t len)
{
	size_t i = 0;

	while (i < map->count && (map->key[i]->len != len || memcmp(map->key[i]->text, key, len)))
		i++;
	return i;
}

struct ynode *yn_get(const struct ynode *map, const char *key)
{
	size_t i;

	if (!map || map->kind != YN_MAP)
		return NULL;
	i = yn_find(map, key, strlen(key));
	return i < map->count ? map->item[i] : NULL;
}

/* Room for one more; the old arrays stay in the pool. */
static void grow(struct yn_pool *p, struct ynode *n)
{
	size_t room = n->room ? 2 * n->room : 4;
	struct ynode **item, **key;

	if (n->count < n->room)
		return;
	item = yn_alloc(p, room * sizeof(*item));
	if (n->count)
		memcpy(item, n->item, n->count * sizeof(*item));
	n->item = item;
	if (n->kind == YN_MAP) {
		key = yn_alloc(p, room * sizeof(*key));
		if (n->count)
			memcpy(key, n->key, n->count * sizeof(*key));
		n->key = key;
	}
	n->room = room;
}

void yn_put(struct yn_pool *p, struct ynode *map, struct ynode *key, struct ynode *value)
{
	size_t i = yn_find(map, key->text, key->len);

	if (i < map->count) {
		map->item[i] = value;
		return;
	}
	grow(p, map);
	map->key[map->count] = key;
	map->item[map->count++] = value;
}

void yn_set(struct yn_pool *p, struct ynode *map, const char *key, struct ynode *value)
{
	yn_put(p, map, yn_string(p, key), value);
}

void yn_insert(struct yn_pool *p, struct ynode *list, size_t at, struct ynode *value)
{
	grow(p, list);
	memmove(list->item + at + 1, list->item + at, (list->count - at) * sizeof(*list->item));
	list->item[at] = value;
	list->count++;
}

void yn_add(struct yn_pool *p, struct ynode *list, struct ynode *value)
{
	yn_insert(p, list, list->count, value);
}

void yn_remove(struct ynode *n, size_t at)
{
	size_t rest = n->count - at - 1;

	memmove(n->item + at, n->item + at + 1, rest * sizeof(*n->item));
	if (n->key)
		memmove(n->key + at, n->key + at + 1, rest * sizeof(*n->key));
	n->count--;
}
