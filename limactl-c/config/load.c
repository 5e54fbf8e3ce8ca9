#include "limactl-c/config/load.h"

#include <stdlib.h>
#include <string.h>

#include "limactl-c/base/mem.h"
#include "limactl-c/base/text.h"
#include "limactl-c/config/schema.h"
#include "limactl-c/config/where.h"
#include "limactl-c/yaml/parse.h"

enum { LIST_MAX = 1000, CHILDREN_MAX = 64 };

struct load {
	const char *name;
	struct cfg *cfg;
	struct findings *f;
};

/* One value being read. */
struct value {
	const struct key *key;
	const struct ynode *node;
	const char *shown; /* path with indexes, for people */
	char *base;        /* struct the row's offsets are in */
};

static struct place at(const struct load *l, const struct ynode *n)
{
	return (struct place){ l->name, n->line, n->column };
}

static void bad_kind(struct load *l, const struct value *v, const char *wanted)
{
	finding_error(l->f, at(l, v->node), NULL, "field `%s` must be %s, not %s", v->shown, wanted,
		      yn_kind_word(v->node->kind));
}

static bool is_scalar(const struct ynode *n)
{
	return n->kind != YN_NULL && yn_is_scalar(n);
}

/* Text without NUL, since it becomes a C string. */
static bool text_ok(struct load *l, const struct ynode *n, const char *shown)
{
	if (!is_scalar(n)) {
		finding_error(l->f, at(l, n), NULL, "field `%s` must be text, not %s", shown,
			      yn_kind_word(n->kind));
		return false;
	}
	if (strlen(n->text) != n->len) {
		finding_error(l->f, at(l, n), NULL, "field `%s` holds a NUL character", shown);
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
		[KEY_STRING] = { 1 << YN_STRING | 1 << YN_INT | 1 << YN_FLOAT | 1 << YN_BOOL,
				 "text" },
		[KEY_BOOL] = { 1 << YN_BOOL, "true or false" },
		[KEY_COUNT] = { 1 << YN_INT, "a whole number" },
		[KEY_PORT] = { 1 << YN_INT, "a port number" },
		[KEY_SIZE] = { 1 << YN_STRING | 1 << YN_INT | 1 << YN_FLOAT, "a size" },
		[KEY_SECONDS] = { 1 << YN_STRING | 1 << YN_INT, "a duration" },
	};
	struct err e;

	if (!(wanted[v->key->type].kinds & 1u << v->node->kind))
		bad_kind(l, v, wanted[v->key->type].word);
	else if (text_ok(l, v->node, v->shown) &&
		 schema_set(v->key, v->base + v->key->at, v->node->text, &e) < 0)
		finding_error(l->f, at(l, v->node), NULL, "field `%s` %s%s", v->shown,
			      strncmp(e.msg, "must", 4) ? "is wrong: " : "", e.msg);
}

/* Whether the value is a list (a mapping) that is not too long. */
static bool collection_ok(struct load *l, const struct value *v, enum yn_kind kind)
{
	if (v->node->kind != kind) {
		bad_kind(l, v, yn_kind_word(kind));
		return false;
	}
	if (v->node->count > LIST_MAX) {
		finding_error(l->f, at(l, v->node), NULL, "field `%s` has more than %d entries", v->shown,
			      LIST_MAX);
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
		finding_error(l->f, at(l, v->node), NULL,
			      "field `%s` must have two ports, the first and the last", v->shown);
		return;
	}
	for (size_t i = 0; i < 2; i++) {
		const struct ynode *n = v->node->item[i];

		if (n->kind != YN_INT) {
			finding_error(l->f, at(l, n), NULL,
				      "field `%s[%zu]` must be a port number, not %s", v->shown, i,
				      yn_kind_word(n->kind));
			return;
		}
		if (schema_set(&port, &got[i], n->text, &e) < 0) {
			finding_error(l->f, at(l, n), NULL, "field `%s[%zu]` %s", v->shown, i, e.msg);
			return;
		}
	}
	memcpy(range, got, sizeof(got));
}

static void load_flags(struct load *l, const struct value *v)
{
	bool *flag = (bool *)(v->base + v->key->at);

	if (!collection_ok(l, v, YN_LIST))
		return;
	for (size_t i = 0; i < v->node->count; i++) {
		const struct ynode *n = v->node->item[i];
		const char *p = v->key->allowed;
		char word[64];
		struct err e;

		if (!text_ok(l, n, v->shown))
			continue;
		if (schema_check_word(v->key, n->text, &e) < 0) {
			finding_error(l->f, at(l, n), NULL, "field `%s[%zu]` %s", v->shown, i, e.msg);
			continue;
		}
		for (size_t j = 0; schema_next_word(&p, word, sizeof(word)); j++)
			flag[j] |= !strcmp(word, n->text);
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
		const struct ynode *n = v->node->item[i];
		auto_free char *shown = xasprintf("%s[%zu]", v->shown, i);

		where_add(l->cfg, shown, at(l, n));
		if (text_ok(l, n, shown))
			(*list)[(*count)++] = xstrdup(n->text);
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
		auto_free char *shown = xasprintf("%s.%s", v->shown, key->text);

		where_add(l->cfg, shown, at(l, key));
		/* As in Lima, an empty value is the empty text. */
		if (n->kind != YN_NULL && !text_ok(l, n, shown))
			continue;
		(*list)[(*count)++] = (struct cfg_env){ xstrdup(key->text), xstrdup(n->text) };
	}
}

static void load_map(struct load *l, const struct ynode *map, const char *group, const char *shown,
		     char *base);

static void load_list(struct load *l, const struct value *v)
{
	void **array = (void **)(void *)(v->base + v->key->at);
	size_t *count = (size_t *)(void *)(v->base + v->key->count_at);
	auto_free char *group = xasprintf("%s[]", v->key->path);

	if (!collection_ok(l, v, YN_LIST))
		return;
	*array = xcalloc(v->node->count, v->key->size);
	*count = v->node->count;
	for (size_t i = 0; i < *count; i++) {
		const struct ynode *n = v->node->item[i];
		auto_free char *shown = xasprintf("%s[%zu]", v->shown, i);

		where_add(l->cfg, shown, at(l, n));
		if (n->kind != YN_MAP)
			finding_error(l->f, at(l, n), NULL, "field `%s` must be a mapping, not %s", shown,
				      yn_kind_word(n->kind));
		else
			load_map(l, n, group, shown, (char *)*array + i * v->key->size);
	}
}

/* A key of Lima that asks for nothing is no reason to refuse a template. */
static void load_later(struct load *l, const struct value *v)
{
	const struct ynode *n = v->node;
	const char *def = v->key->def;

	if (is_scalar(n) ? def && !strcmp(n->text, def) : !n->count)
		return;
	finding_error(l->f, at(l, n), NULL,
		      "`%s` is a key of Lima that this version does not support yet%s%s%s",
		      v->shown, def ? " (only `" : "", def ? def : "", def ? "`)" : "");
}

static void load_value(struct load *l, const struct value *v)
{
	static void (*const load[KEY_TYPES])(struct load *, const struct value *) = {
		[KEY_STRING] = load_scalar, [KEY_BOOL] = load_scalar, [KEY_COUNT] = load_scalar,
		[KEY_PORT] = load_scalar,   [KEY_SIZE] = load_scalar, [KEY_SECONDS] = load_scalar,
		[KEY_RANGE] = load_range,   [KEY_FLAGS] = load_flags, [KEY_PAIRS] = load_pairs,
		[KEY_LIST] = load_list,     [KEY_LATER] = load_later, [KEY_STRINGS] = load_strings,
	};

	if (v->node->kind == YN_NULL) /* null means: not set */
		return;
	where_add(l->cfg, v->shown, at(l, v->node));
	load[v->key->type](l, v);
}

static void unknown_key(struct load *l, const struct ynode *key, const char *group,
			const char *shown)
{
	char *names[CHILDREN_MAX];
	size_t n = schema_children(group, names, CHILDREN_MAX);
	const char *near = text_nearest(key->text, (const char *const *)names, n);

	finding_error(l->f, at(l, key), NULL, "unknown key `%s`%s%s%s", shown,
		      near ? "; did you mean " : "", near ? near : "", near ? "?" : "");
	for (size_t i = 0; i < n; i++)
		free(names[i]);
}

static void load_map(struct load *l, const struct ynode *map, const char *group, const char *shown,
		     char *base)
{
	const char *dot = *group ? "." : "";

	for (size_t i = 0; i < map->count; i++) {
		const struct ynode *key = map->key[i], *n = map->item[i];
		auto_free char *path = xasprintf("%s%s%s", group, dot, key->text);
		auto_free char *path_shown = xasprintf("%s%s%s", shown, dot, key->text);
		/* A key that is empty or written with dots or brackets is no path. */
		bool word = *key->text && !strpbrk(key->text, ".[");
		const struct key *k = word ? schema_find(path) : NULL;

		if (k) {
			load_value(l, &(struct value){ k, n, path_shown, base });
		} else if (!word || !schema_is_group(path)) {
			unknown_key(l, key, group, path_shown);
		} else if (n->kind == YN_MAP) {
			where_add(l->cfg, path_shown, at(l, n));
			load_map(l, n, path, path_shown, base);
		} else if (n->kind != YN_NULL) {
			finding_error(l->f, at(l, n), NULL, "field `%s` must be a mapping, not %s",
				      path_shown, yn_kind_word(n->kind));
		}
	}
}

bool load_text(const char *name, const char *text, size_t len, struct cfg *out, struct findings *f)
{
	struct load l = { name, out, f };
	auto_pool pool = yn_pool_new();
	const struct ynode *root = yn_parse(pool, name, text, len, f);
	bool is_map;

	if (root && root->kind == YN_MAP)
		load_map(&l, root, "", "", (char *)out);
	else if (root)
		finding_error(f, at(&l, root), NULL, "a template is a mapping of keys to values, not %s",
			      yn_kind_word(root->kind));
	is_map = root && root->kind == YN_MAP;
	where_sort(out);
	return is_map;
}
