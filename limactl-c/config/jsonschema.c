/* jsonschema.c - the table of keys as a JSON Schema, for editors. */
#include <stdlib.h>
#include <string.h>

#include "lib/buf.h"
#include "lib/cleanup.h"
#include "limactl-c/config/config.h"
#include "limactl-c/config/schema.h"
#include "limactl-c/yaml/emit.h"

enum { SCHEMA_MAX = 1 << 20, INDENT = 2, WORD_SIZE = 64 };

static struct ynode *describe(struct yn_pool *p, const struct schema_node *n);

/* ["a", "b"] of "a|b". */
static struct ynode *list_of_words(struct yn_pool *p, const char *words)
{
	struct ynode *list = yn_list(p);
	char word[WORD_SIZE];

	while (schema_next_word(&words, word, sizeof(word)))
		yn_add(p, list, yn_string(p, word));
	return list;
}

/* {"type": ["string", "null"]} of "string|null". */
static struct ynode *typed(struct yn_pool *p, const char *words)
{
	struct ynode *map = yn_map(p), *list = list_of_words(p, words);

	yn_set(p, map, "type", list->count == 1 ? list->item[0] : list);
	return map;
}

static void set_text(struct yn_pool *p, struct ynode *map, const char *key, const char *text)
{
	if (text)
		yn_set(p, map, key, yn_string(p, text));
}

static struct ynode *words(struct yn_pool *p, const char *allowed, bool nullable)
{
	struct ynode *map = yn_map(p), *list = list_of_words(p, allowed);

	if (nullable)
		yn_add(p, list, yn_null(p));
	yn_set(p, map, "enum", list);
	return map;
}

/* YAML's numbers and booleans are texts where a text is asked for. */
#define TEXT "string|number|boolean"

static struct ynode *of_string(struct yn_pool *p, const struct schema_node *n)
{
	return n->key->allowed ? words(p, n->key->allowed, true) : typed(p, TEXT "|null");
}

static struct ynode *of_bool(struct yn_pool *p, const struct schema_node *n)
{
	(void)n;
	return typed(p, "boolean|null");
}

static struct ynode *of_number(struct yn_pool *p, const struct schema_node *n)
{
	struct ynode *map = typed(p, "integer|null");
	uint64_t low, high;

	schema_bounds(n->key, &low, &high);
	yn_set(p, map, "minimum", yn_int(p, (int64_t)low));
	yn_set(p, map, "maximum", yn_int(p, (int64_t)high));
	return map;
}

static struct ynode *of_size(struct yn_pool *p, const struct schema_node *n)
{
	struct ynode *map = typed(p, "string|number|null");

	(void)n;
	set_text(p, map, "pattern", "^[0-9]+(\\.[0-9]+)? ?([kmgtpeKMGTPE][iI]?)?[bB]?$");
	return map;
}

static struct ynode *of_seconds(struct yn_pool *p, const struct schema_node *n)
{
	struct ynode *map = typed(p, "string|integer|null");

	(void)n;
	set_text(p, map, "pattern", "^(0|([0-9]+(\\.[0-9]+)?(ms|s|m|h))+)$");
	return map;
}

static struct ynode *list_of(struct yn_pool *p, struct ynode *items)
{
	struct ynode *map = typed(p, "array|null");

	yn_set(p, map, "items", items);
	return map;
}

static struct ynode *of_range(struct yn_pool *p, const struct schema_node *n)
{
	struct ynode *port = typed(p, "integer"), *map = list_of(p, port);

	(void)n;
	yn_set(p, port, "minimum", yn_int(p, 0));
	yn_set(p, port, "maximum", yn_int(p, 65535));
	yn_set(p, map, "minItems", yn_int(p, 2));
	yn_set(p, map, "maxItems", yn_int(p, 2));
	return map;
}

static struct ynode *of_strings(struct yn_pool *p, const struct schema_node *n)
{
	return list_of(p, n->key->allowed ? words(p, n->key->allowed, false) : typed(p, TEXT));
}

static struct ynode *of_pairs(struct yn_pool *p, const struct schema_node *n)
{
	struct ynode *map = typed(p, "object|null");

	(void)n;
	yn_set(p, map, "additionalProperties", typed(p, TEXT "|null"));
	return map;
}

static struct ynode *either(struct yn_pool *p, struct ynode *a, struct ynode *b)
{
	struct ynode *map = yn_map(p), *list = yn_list(p);

	yn_add(p, list, a);
	yn_add(p, list, b);
	yn_set(p, map, "anyOf", list);
	return map;
}

/* The mapping of a group, or of an element of a list. */
static struct ynode *object(struct yn_pool *p, const struct schema_node *group, bool nullable)
{
	struct ynode *map = typed(p, nullable ? "object|null" : "object");
	struct ynode *properties = yn_map(p), *required = yn_list(p);
	bool word = false;

	for (const struct schema_node *n = group->child; n; n = n->next) {
		bool in_mapping = n->key && n->key->type == KEY_STRING;

		yn_set(p, properties, n->name, describe(p, n));
		if (n->key && n->key->required)
			yn_add(p, required, yn_string(p, n->name));
		word |= in_mapping && n->key->word;
	}
	yn_set(p, map, "properties", properties);
	if (required->count)
		yn_set(p, map, "required", required);
	yn_set(p, map, "additionalProperties", yn_bool(p, false));
	return word ? either(p, typed(p, "string"), map) : map;
}

static struct ynode *of_list(struct yn_pool *p, const struct schema_node *n)
{
	struct ynode *list = list_of(p, object(p, n, false)), *one;

	if (!n->key->word)
		return list;
	/* One element may stand for the list: as a word or as a mapping. */
	one = object(p, n, false);
	yn_add(p, yn_get(one, "anyOf"), list);
	return one;
}

static struct ynode *of_moved(struct yn_pool *p, const struct schema_node *n)
{
	struct ynode *map = describe(p, schema_node_of(n->key->moved));

	yn_set(p, map, "deprecated", yn_bool(p, true));
	return map;
}

static void set_default(struct yn_pool *p, struct ynode *map, const struct key *k)
{
	if (!k->def)
		return;
	if (k->type == KEY_BOOL)
		yn_set(p, map, "default", yn_bool(p, !strcmp(k->def, "true")));
	else if (k->type == KEY_COUNT)
		yn_set(p, map, "default", yn_int(p, strtoll(k->def, NULL, 10)));
	else if (k->type == KEY_FLAGS)
		yn_set(p, map, "default", yn_list(p));
	else
		set_text(p, map, "default", k->def);
}

static struct ynode *describe(struct yn_pool *p, const struct schema_node *n)
{
	static struct ynode *(*const kinds[])(struct yn_pool *, const struct schema_node *) = {
		[KEY_STRING] = of_string,   [KEY_BOOL] = of_bool,    [KEY_TRI] = of_bool,   [KEY_COUNT] = of_number,
		[KEY_PORT] = of_number,     [KEY_SIZE] = of_size,    [KEY_SECONDS] = of_seconds, [KEY_RANGE] = of_range,
		[KEY_FLAGS] = of_strings,   [KEY_PAIRS] = of_pairs,  [KEY_STRINGS] = of_strings, [KEY_LIST] = of_list,
		[KEY_MOVED] = of_moved,
	};
	_Static_assert(sizeof(kinds) / sizeof(*kinds) == KEY_TYPES, "a description for each type");
	struct ynode *map;

	if (!n->key)
		return object(p, n, true);
	map = kinds[n->key->type](p, n);
	set_text(p, map, "description", n->key->help);
	set_default(p, map, n->key);
	return map;
}

char *cfg_json_schema(void)
{
	auto_pool p = yn_pool_new();
	struct buf b = BUF_INIT(SCHEMA_MAX);
	struct ynode *map = yn_map(p), *all = object(p, schema_root(), false);

	set_text(p, map, "$schema", "https://json-schema.org/draft/2020-12/schema");
	set_text(p, map, "title", "Template of an instance");
	for (size_t i = 0; i < all->count; i++)
		yn_put(p, map, all->key[i], all->item[i]);
	if (yn_json(map, INDENT, &b) < 0)
		abort(); /* memory: the table is far smaller than SCHEMA_MAX */
	return b.data;
}
