/* dump.c - a filled configuration as a tree, driven by the table of keys. What is not set is left out. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "lib/cleanup.h"
#include "limactl-c/base/text.h"
#include "limactl-c/config/config.h"
#include "limactl-c/config/schema.h"
#include "limactl-c/config/size.h"

enum { NUMBER_MAX = 24 };

/* A value's text, row and struct, and what was given for it (NULL: nothing). */
struct member {
	const struct schema_node *schema;
	const char *base;
	const struct ynode *given;
};

static struct ynode *placed(struct ynode *n, const struct ynode *given)
{
	if (n && given) {
		n->source = given->source;
		n->line = given->line;
		n->column = given->column;
	}
	return n;
}

static const struct ynode *item_of(const struct ynode *list, size_t i)
{
	return list && list->kind == YN_LIST && i < list->count ? list->item[i] : NULL;
}

static struct ynode *number(struct yn_pool *p, uint64_t n)
{
	char text[NUMBER_MAX];

	return yn_scalar(p, YN_INT, text, (size_t)snprintf(text, sizeof(text), "%" PRIu64, n));
}

/* "4GiB" where that is exact. */
static struct ynode *size(struct yn_pool *p, uint64_t bytes)
{
	auto_free char *text = text_size(bytes);
	uint64_t again;
	struct err e;

	return bytes && size_parse(text, &again, &e) == 0 && again == bytes ? yn_string(p, text) : number(p, bytes);
}

static struct ynode *seconds(struct yn_pool *p, uint32_t n)
{
	auto_free char *text = text_duration(n);

	return yn_string(p, text);
}

static struct ynode *range(struct yn_pool *p, const struct member *m)
{
	const uint32_t *port = (const uint32_t *)(const void *)(m->base + m->schema->key->at);
	struct ynode *list = NULL;

	for (size_t i = 0; i < 2 && (port[0] || port[1]); i++) {
		list = list ? list : yn_list(p);
		yn_add(p, list, placed(number(p, port[i]), item_of(m->given, i)));
	}
	return list;
}

static struct ynode *flags(struct yn_pool *p, const struct member *m)
{
	const bool *flag = (const bool *)(m->base + m->schema->key->at);
	const char *words = m->schema->key->allowed;
	struct ynode *list = yn_list(p);
	char word[64];

	for (size_t i = 0; schema_next_word(&words, word, sizeof(word)); i++) {
		if (flag[i])
			yn_add(p, list, placed(yn_string(p, word), m->given));
	}
	return list;
}

static size_t count_of(const struct member *m)
{
	return *(const size_t *)(const void *)(m->base + m->schema->key->count_at);
}

static struct ynode *pairs(struct yn_pool *p, const struct member *m)
{
	const struct cfg_env *pair = *(struct cfg_env *const *)(const void *)(m->base + m->schema->key->at);
	struct ynode *map = count_of(m) || m->given ? yn_map(p) : NULL;

	for (size_t i = 0; i < count_of(m); i++)
		yn_set(p, map, pair[i].key, placed(yn_string(p, pair[i].value), yn_get(m->given, pair[i].key)));
	return map;
}

static struct ynode *strings(struct yn_pool *p, const struct member *m)
{
	char *const *text = *(char *const *const *)(const void *)(m->base + m->schema->key->at);
	struct ynode *list = count_of(m) || m->given ? yn_list(p) : NULL;

	for (size_t i = 0; i < count_of(m); i++)
		yn_add(p, list, placed(yn_string(p, text[i]), item_of(m->given, i)));
	return list;
}

static struct ynode *group(struct yn_pool *p, const struct member *m);

/* An empty list that was given says something: portForwards: [] is not the same as none. */
static struct ynode *list_of(struct yn_pool *p, const struct member *m)
{
	const struct key *k = m->schema->key;
	const char *array = *(const char *const *)(const void *)(m->base + k->at);
	struct ynode *list = count_of(m) || m->given ? yn_list(p) : NULL;

	for (size_t i = 0; i < count_of(m); i++) {
		struct member element = { m->schema, array + i * k->size, item_of(m->given, i) };
		struct ynode *map = group(p, &element);

		yn_add(p, list, map ? map : yn_map(p));
	}
	return list;
}

/* A number where 0 is not allowed, or stands for "none". */
static bool zero_is_unset(const struct key *k)
{
	return k->type == KEY_PORT || (k->allowed && strncmp(k->allowed, "0-", 2));
}

/* NULL: not set. */
static struct ynode *scalar(struct yn_pool *p, const struct key *k, const void *field)
{
	const char *text;

	switch (k->type) {
	case KEY_STRING:
		text = *(const char *const *)field;
		return text ? yn_string(p, text) : NULL;
	case KEY_BOOL:
		return yn_bool(p, *(const bool *)field);
	case KEY_TRI:
		return *(const enum cfg_tri *)field ? yn_bool(p, *(const enum cfg_tri *)field == CFG_TRUE) : NULL;
	case KEY_PORT:
	case KEY_COUNT:
		return *(const uint32_t *)field || !zero_is_unset(k) ? number(p, *(const uint32_t *)field) : NULL;
	case KEY_SIZE:
		return size(p, *(const uint64_t *)field);
	case KEY_SECONDS:
		return seconds(p, *(const uint32_t *)field);
	default:
		return NULL;
	}
}

static struct ynode *value(struct yn_pool *p, const struct member *m)
{
	static struct ynode *(*const make[KEY_TYPES])(struct yn_pool *, const struct member *) = {
		[KEY_RANGE] = range,     [KEY_FLAGS] = flags,  [KEY_PAIRS] = pairs,
		[KEY_STRINGS] = strings, [KEY_LIST] = list_of,
	};
	const struct key *k = m->schema->key;

	if (!k)
		return group(p, m);
	return make[k->type] ? make[k->type](p, m) : scalar(p, k, m->base + k->at);
}

/* The keys directly below a group or in an element of a list; NULL when none is set. */
static struct ynode *group(struct yn_pool *p, const struct member *m)
{
	struct ynode *map = NULL;

	for (const struct schema_node *n = m->schema->child; n; n = n->next) {
		const struct ynode *given = yn_get(m->given, n->name);
		struct member one = { n, m->base, given && given->kind != YN_NULL ? given : NULL };
		struct ynode *v = value(p, &one);

		if (!v)
			continue;
		map = map ? map : yn_map(p);
		yn_set(p, map, n->name, placed(v, one.given));
	}
	return placed(map, m->given);
}

struct ynode *cfg_tree(const struct cfg *c, struct yn_pool *p)
{
	struct member all = { schema_root(), (const char *)c, c->given };
	struct ynode *map = group(p, &all);

	return map ? map : yn_map(p);
}
