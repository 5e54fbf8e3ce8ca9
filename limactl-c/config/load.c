#include "limactl-c/config/load.h"

#include <stdlib.h>
#include <string.h>

#include "lib/cleanup.h"
#include "limactl-c/base/mem.h"
#include "limactl-c/base/text.h"
#include "limactl-c/config/schema.h"
#include "limactl-c/config/where.h"

enum { LIST_MAX = 1000, CHILDREN_MAX = 64 };

struct load {
	const char *name; /* of the file */
	bool lenient;
	struct findings *f;
};

/* One value being read. */
struct value {
	const struct schema_node *schema;
	const struct key *key;
	const struct ynode *node;
	const struct cfg_path *path;
	char *base; /* struct the row's offsets are in */
};

static void ERR_FMT(4, 5) bad(struct load *l, const struct cfg_path *path, const struct ynode *n, const char *fmt, ...)
{
	auto_free char *shown = cfg_path_text(path);
	va_list ap;

	va_start(ap, fmt);
	finding_add(l->f, n->source ? yn_place(n) : (struct place){ l->name, 0, 0 }, shown, false, fmt, ap);
	va_end(ap);
}

static void bad_kind(struct load *l, const struct value *v, const char *wanted)
{
	bad(l, v->path, v->node, "must be %s, not %s", wanted, yn_kind_word(v->node->kind));
}

static bool is_scalar(const struct ynode *n)
{
	return n->kind != YN_NULL && yn_is_scalar(n);
}

/* Text without NUL, since it becomes a C string. */
static bool text_ok(struct load *l, const struct ynode *n, const struct cfg_path *path)
{
	if (!is_scalar(n)) {
		bad(l, path, n, "must be text, not %s", yn_kind_word(n->kind));
		return false;
	}
	if (strlen(n->text) != n->len) {
		bad(l, path, n, "holds a NUL character");
		return false;
	}
	return true;
}

static void load_scalar(struct load *l, const struct value *v)
{
	static const struct {
		unsigned kinds;
		const char *word;
	} wanted[KEY_TYPES] = {
		[KEY_STRING] = { 1 << YN_STRING | 1 << YN_INT | 1 << YN_FLOAT | 1 << YN_BOOL, "text" },
		[KEY_BOOL] = { 1 << YN_BOOL, "true or false" },
		[KEY_TRI] = { 1 << YN_BOOL, "true or false" },
		[KEY_COUNT] = { 1 << YN_INT, "a whole number" },
		[KEY_PORT] = { 1 << YN_INT, "a port number" },
		[KEY_SIZE] = { 1 << YN_STRING | 1 << YN_INT | 1 << YN_FLOAT, "a size" },
		[KEY_SECONDS] = { 1 << YN_STRING | 1 << YN_INT, "a duration" },
	};
	struct err e;

	if (!(wanted[v->key->type].kinds & 1u << v->node->kind))
		bad_kind(l, v, wanted[v->key->type].word);
	else if (text_ok(l, v->node, v->path) &&
		 schema_set(v->key, v->base + v->key->at, v->node->text, &e) < 0)
		bad(l, v->path, v->node, "%s", e.msg);
}

/* Whether the value is a list (a mapping) that is not too long. */
static bool collection_ok(struct load *l, const struct value *v, enum yn_kind kind)
{
	if (v->node->kind != kind) {
		bad_kind(l, v, yn_kind_word(kind));
		return false;
	}
	if (v->node->count > LIST_MAX) {
		bad(l, v->path, v->node, "has more than %d entries", LIST_MAX);
		return false;
	}
	return true;
}

static void load_range(struct load *l, const struct value *v)
{
	static const struct key port = { .path = "", .type = KEY_PORT };
	uint32_t *range = (uint32_t *)(void *)(v->base + v->key->at), got[2];
	struct err e;

	if (!collection_ok(l, v, YN_LIST))
		return;
	if (v->node->count != 2) {
		bad(l, v->path, v->node, "must have two ports, the first and the last");
		return;
	}
	for (size_t i = 0; i < 2; i++) {
		const struct ynode *n = v->node->item[i];
		struct cfg_path path = { v->path, NULL, i };

		if (n->kind != YN_INT) {
			bad(l, &path, n, "must be a port number, not %s", yn_kind_word(n->kind));
			return;
		}
		if (schema_set(&port, &got[i], n->text, &e) < 0) {
			bad(l, &path, n, "%s", e.msg);
			return;
		}
	}
	memcpy(range, got, sizeof(got));
}

/* A word of a list that allows only some. */
static bool word_ok(struct load *l, const struct value *v, const struct ynode *n, const struct cfg_path *path)
{
	struct err e;

	if (!text_ok(l, n, path))
		return false;
	if (schema_check_word(v->key, n->text, &e) == 0)
		return true;
	bad(l, path, n, "%s", e.msg);
	return false;
}

static void load_flags(struct load *l, const struct value *v)
{
	bool *flag = (bool *)(v->base + v->key->at);

	if (!collection_ok(l, v, YN_LIST))
		return;
	for (size_t i = 0; i < v->node->count; i++) {
		const char *p = v->key->allowed;
		char word[64];

		if (!word_ok(l, v, v->node->item[i], &(struct cfg_path){ v->path, NULL, i }))
			continue;
		for (size_t j = 0; schema_next_word(&p, word, sizeof(word)); j++)
			flag[j] |= !strcmp(word, v->node->item[i]->text);
	}
}

static void load_strings(struct load *l, const struct value *v)
{
	char ***list = (char ***)(void *)(v->base + v->key->at);
	size_t *count = (size_t *)(void *)(v->base + v->key->count_at);

	if (!collection_ok(l, v, YN_LIST))
		return;
	*list = xcalloc(v->node->count, sizeof(**list));
	for (size_t i = 0; i < v->node->count; i++) {
		if (word_ok(l, v, v->node->item[i], &(struct cfg_path){ v->path, NULL, i }))
			(*list)[(*count)++] = xstrdup(v->node->item[i]->text);
	}
}

static void load_pairs(struct load *l, const struct value *v)
{
	struct cfg_env **list = (struct cfg_env **)(void *)(v->base + v->key->at);
	size_t *count = (size_t *)(void *)(v->base + v->key->count_at);

	if (!collection_ok(l, v, YN_MAP))
		return;
	*list = xcalloc(v->node->count, sizeof(**list));
	for (size_t i = 0; i < v->node->count; i++) {
		const struct ynode *key = v->node->key[i], *n = v->node->item[i];

		/* As in Lima, null is the empty text. */
		bool none = n->kind == YN_NULL;

		if (none || text_ok(l, n, &(struct cfg_path){ v->path, key->text, 0 }))
			(*list)[(*count)++] = (struct cfg_env){ xstrdup(key->text), xstrdup(none ? "" : n->text) };
	}
}

static void load_map(struct load *l, const struct ynode *map, const struct schema_node *group,
		     const struct cfg_path *path, char *base);

static void load_list(struct load *l, const struct value *v)
{
	void **array = (void **)(void *)(v->base + v->key->at);
	size_t *count = (size_t *)(void *)(v->base + v->key->count_at);

	if (!collection_ok(l, v, YN_LIST))
		return;
	*array = xcalloc(v->node->count, v->key->size);
	*count = v->node->count;
	for (size_t i = 0; i < *count; i++) {
		const struct ynode *n = v->node->item[i];
		struct cfg_path path = { v->path, NULL, i };

		if (n->kind != YN_MAP)
			bad(l, &path, n, "must be a mapping, not %s", yn_kind_word(n->kind));
		else
			load_map(l, n, v->schema, &path, (char *)*array + i * v->key->size);
	}
}

/* What load_moved left is wrong in itself. */
static void load_moved_value(struct load *l, const struct value *v)
{
	bad(l, v->path, v->node, "is deprecated and cannot be moved to %s: they are of different kinds", v->key->moved);
}

static void load_value(struct load *l, const struct value *v)
{
	static void (*const load[])(struct load *, const struct value *) = {
		[KEY_STRING] = load_scalar,   [KEY_BOOL] = load_scalar, [KEY_TRI] = load_scalar,
		[KEY_COUNT] = load_scalar,    [KEY_PORT] = load_scalar, [KEY_SIZE] = load_scalar,
		[KEY_SECONDS] = load_scalar,  [KEY_RANGE] = load_range, [KEY_FLAGS] = load_flags,
		[KEY_PAIRS] = load_pairs,     [KEY_LIST] = load_list,   [KEY_STRINGS] = load_strings,
		[KEY_MOVED] = load_moved_value,
	};
	_Static_assert(sizeof(load) / sizeof(*load) == KEY_TYPES, "a loader for each type");

	load[v->key->type](l, v);
}

static void unknown_key(struct load *l, const struct ynode *key, const struct schema_node *group,
			const struct cfg_path *path)
{
	auto_free char *shown = cfg_path_text(path);
	const char *names[CHILDREN_MAX], *near;
	size_t n = 0;

	for (const struct schema_node *c = group->child; c && n < CHILDREN_MAX; c = c->next)
		names[n++] = c->name;
	near = text_nearest(key->text, names, n);
	(l->lenient ? finding_warning : finding_error)(l->f, yn_place(key), shown, "unknown key%s%s%s",
						       near ? "; did you mean " : "", near ? near : "",
						       near ? "?" : "");
}

static void load_map(struct load *l, const struct ynode *map, const struct schema_node *group,
		     const struct cfg_path *path, char *base)
{
	for (size_t i = 0; i < map->count; i++) {
		const struct ynode *key = map->key[i], *n = map->item[i];
		const struct schema_node *s = schema_child(group, key->text);
		struct cfg_path at = { path, key->text, 0 };

		if (!s)
			unknown_key(l, key, group, &at);
		else if (n->kind == YN_NULL) /* null means: not set */
			continue;
		else if (s->key)
			load_value(l, &(struct value){ s, s->key, n, &at, base });
		else if (n->kind == YN_MAP)
			load_map(l, n, s, &at, base);
		else
			bad(l, &at, n, "must be a mapping, not %s", yn_kind_word(n->kind));
	}
}

void load_given(struct cfg *c, const char *name, bool lenient, struct findings *f)
{
	load_map(&(struct load){ name, lenient, f }, c->given, schema_root(), NULL, (char *)c);
}

/* Adds what from holds and to does not; false when they cannot be one. */
static bool add_missing(struct yn_pool *p, struct ynode *to, const struct ynode *from)
{
	if (to->kind != YN_MAP || from->kind != YN_MAP)
		return false;
	for (size_t i = 0; i < from->count; i++) {
		const struct ynode *has = yn_get(to, from->key[i]->text);

		if (!has || has->kind == YN_NULL)
			yn_put(p, to, from->key[i], from->item[i]);
	}
	return true;
}

/* Puts value at path, making the mappings on the way; false when something else is in the way. */
static bool put_at(struct yn_pool *p, struct ynode *map, const char *path, struct ynode *value)
{
	size_t n = strcspn(path, ".");
	auto_free char *name = xstrndup(path, n);
	struct ynode *next = yn_get(map, name);

	if (!path[n]) {
		if (next && next->kind != YN_NULL)
			return add_missing(p, next, value);
		yn_set(p, map, name, value);
		return true;
	}
	if (!next || next->kind == YN_NULL) {
		next = yn_map(p);
		yn_set(p, map, name, next);
	}
	return next->kind == YN_MAP && put_at(p, next, path + n + 1, value);
}

/* Whether there is any value but null in it. */
static bool says_something(const struct ynode *n)
{
	bool any = n->kind != YN_NULL && yn_is_scalar(n);

	for (size_t i = 0; i < n->count && !any; i++)
		any = says_something(n->item[i]);
	return any;
}

void load_moved(struct cfg *c, struct findings *f)
{
	for (size_t i = 0; i < schema_count; i++) {
		const struct key *k = &schema[i];
		size_t at = k->type == KEY_MOVED ? yn_find(c->given, k->path, strlen(k->path)) : c->given->count;

		if (at == c->given->count || c->given->item[at]->kind == YN_NULL ||
		    !put_at(c->pool, c->given, k->moved, c->given->item[at]))
			continue;
		if (says_something(c->given->item[at]))
			finding_warning(f, yn_place(c->given->key[at]), k->path, "is deprecated; write %s", k->moved);
		yn_remove(c->given, at);
	}
}
