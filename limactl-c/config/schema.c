#include "limactl-c/config/schema.h"

#include <inttypes.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lib/cleanup.h"
#include "limactl-c/base/mem.h"
#include "limactl-c/base/text.h"
#include "limactl-c/config/config.h"
#include "limactl-c/config/size.h"
#include "limactl-c/yaml/yscalar.h"

enum { WORD_SIZE = 64, WORDS_MAX = 16, NODES_MAX = 320 };

static struct schema_node nodes[NODES_MAX];
static size_t node_count;

/* The child called by the n bytes at name, made at the end of the group's children when there is none. */
static struct schema_node *add_child(struct schema_node *group, const char *name, size_t n)
{
	struct schema_node **last = &group->child, *made;

	for (; *last; last = &(*last)->next) {
		if (!strncmp((*last)->name, name, n) && !(*last)->name[n])
			return *last;
	}
	if (node_count == NODES_MAX || n >= SCHEMA_NAME_MAX)
		abort(); /* the table outgrew the tree */
	made = &nodes[node_count++];
	memcpy(made->name, name, n);
	*last = made;
	return made;
}

const struct schema_node *schema_root(void)
{
	if (node_count)
		return nodes;
	node_count = 1;
	for (size_t i = 0; i < schema_count; i++) {
		struct schema_node *at = nodes;

		for (const char *p = schema[i].path; *p; p += *p == '.') {
			size_t n = strcspn(p, ".[");

			at = add_child(at, p, n);
			p += n;
			if (*p == '[')
				p += strlen("[]");
		}
		at->key = &schema[i];
	}
	return nodes;
}

const struct schema_node *schema_child(const struct schema_node *group, const char *name)
{
	const struct schema_node *n = group->child;

	while (n && strcmp(n->name, name))
		n = n->next;
	return n;
}

const struct schema_node *schema_node_of(const char *path)
{
	const struct schema_node *at = schema_root();

	while (at && *path) {
		char name[SCHEMA_NAME_MAX];
		size_t n = strcspn(path, ".[");

		if (n >= sizeof(name))
			return NULL;
		memcpy(name, path, n);
		name[n] = '\0';
		at = schema_child(at, name);
		path += n;
		path += !strncmp(path, "[]", 2) ? 2 : 0;
		path += *path == '.';
	}
	return at;
}

const struct key *schema_find(const char *path)
{
	const struct schema_node *n = schema_node_of(path);

	return n && n->key && !strcmp(n->key->path, path) ? n->key : NULL;
}

bool schema_next_word(const char **p, char *word, size_t size)
{
	size_t n = strcspn(*p, "|");

	if (!n || n >= size)
		return false;
	memcpy(word, *p, n);
	word[n] = '\0';
	*p += n + ((*p)[n] == '|');
	return true;
}

static bool has_word(const char *p, const char *text)
{
	char word[WORD_SIZE];

	while (p && schema_next_word(&p, word, sizeof(word))) {
		if (!strcmp(word, text))
			return true;
	}
	return false;
}

int schema_check_word(const struct key *k, const char *text, struct err *e)
{
	char word[WORDS_MAX][WORD_SIZE], list[300] = "";
	const char *words[WORDS_MAX], *p = k->allowed, *near;
	size_t count = 0, used = 0;

	if (!k->allowed || has_word(k->allowed, text))
		return 0;
	while (count < WORDS_MAX && schema_next_word(&p, word[count], WORD_SIZE)) {
		used += (size_t)snprintf(list + used, sizeof(list) - used, "%s%s", count ? " " : "",
					 word[count]);
		words[count] = word[count];
		count++;
	}
	near = text_nearest(text, words, count);
	return err_set(e, ERR_INVALID, "must be one of [%s]; got \"%.60s\"%s%s%s", list, text,
		       near ? "; did you mean " : "", near ? near : "", near ? "?" : "");
}

static int set_string(const struct key *k, void *field, const char *text, struct err *e)
{
	char **s = field;

	/* As in Lima, no word is the same as no value. */
	bool none = k->allowed && !*text;

	if (!none && schema_check_word(k, text, e) < 0)
		return -1;
	free(*s);
	*s = none ? NULL : xstrdup(text);
	return 0;
}

static int set_bool(const struct key *k, void *field, const char *text, struct err *e)
{
	(void)k;
	(void)e;
	*(bool *)field = text[0] == 't' || text[0] == 'T';
	return 0;
}

static int set_tri(const struct key *k, void *field, const char *text, struct err *e)
{
	bool yes;

	set_bool(k, &yes, text, e);
	*(enum cfg_tri *)field = yes ? CFG_TRUE : CFG_FALSE;
	return 0;
}

void schema_bounds(const struct key *k, uint64_t *low, uint64_t *high)
{
	*low = 0;
	*high = k->type == KEY_PORT ? 65535 : UINT32_MAX;
	if (k->allowed)
		sscanf(k->allowed, "%" SCNu64 "-%" SCNu64, low, high);
}

static int set_number(const struct key *k, void *field, const char *text, struct err *e)
{
	uint64_t low, high, v;

	schema_bounds(k, &low, &high);
	if (!yscalar_uint(text, &v) || v < low || v > high)
		return err_set(e, ERR_INVALID,
			       "must be a whole number from %" PRIu64 " to %" PRIu64 "; got %.40s",
			       low, high, text);
	*(uint32_t *)field = (uint32_t)v;
	return 0;
}

static int set_size(const struct key *k, void *field, const char *text, struct err *e)
{
	const char *dash = k->allowed ? strchr(k->allowed, '-') : NULL;
	auto_free char *least = dash ? xstrndup(k->allowed, (size_t)(dash - k->allowed)) : NULL;
	uint64_t low, high, v;

	if (size_parse(text, &v, e) < 0)
		return -1;
	if (dash && (size_parse(least, &low, e) < 0 || size_parse(dash + 1, &high, e) < 0 ||
		     v < low || v > high))
		return err_set(e, ERR_INVALID, "must be a size from %s to %s; got %.40s", least,
			       dash + 1, text);
	*(uint64_t *)field = v;
	return 0;
}

static int set_seconds(const struct key *k, void *field, const char *text, struct err *e)
{
	(void)k;
	return duration_parse(text, field, e);
}

int schema_set(const struct key *k, void *field, const char *text, struct err *e)
{
	static int (*const set[KEY_TYPES])(const struct key *, void *, const char *,
					   struct err *) = {
		[KEY_STRING] = set_string, [KEY_BOOL] = set_bool,   [KEY_TRI] = set_tri,
		[KEY_COUNT] = set_number,  [KEY_PORT] = set_number, [KEY_SIZE] = set_size,
		[KEY_SECONDS] = set_seconds,
	};

	/* Lists have no default but the empty one, which is what zeroed memory holds. */
	return set[k->type] ? set[k->type](k, field, text, e) : 0;
}

static void clear_pairs(struct cfg_env *pair, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		free(pair[i].key);
		free(pair[i].value);
	}
	free(pair);
}

static void clear_strings(char **s, size_t count)
{
	for (size_t i = 0; i < count; i++)
		free(s[i]);
	free(s);
}

static void clear_key(const struct schema_node *n, char *base);

static void clear_children(const struct schema_node *group, char *base)
{
	for (const struct schema_node *n = group->child; n; n = n->next) {
		if (n->key)
			clear_key(n, base);
		else
			clear_children(n, base);
	}
}

static void clear_list(const struct schema_node *list, char *array, size_t count)
{
	for (size_t i = 0; i < count; i++)
		clear_children(list, array + i * list->key->size);
	free(array);
}

static void clear_key(const struct schema_node *n, char *base)
{
	const struct key *k = n->key;
	void **field = (void **)(void *)(base + k->at);
	size_t *count = (size_t *)(void *)(base + k->count_at);

	switch (k->type) {
	case KEY_STRING:
		free(*field);
		break;
	case KEY_PAIRS:
		clear_pairs(*field, *count);
		break;
	case KEY_STRINGS:
		clear_strings(*field, *count);
		break;
	case KEY_LIST:
		clear_list(n, *field, *count);
		break;
	default:
		return;
	}
	*field = NULL;
	if (k->type != KEY_STRING)
		*count = 0;
}

void schema_clear(const char *group, void *base)
{
	clear_children(schema_node_of(group), base);
}
