#include "limactl-c/yq/tree.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void yq_fail(struct yq_run *r, const char *fmt, ...)
{
	char text[700];
	va_list ap;

	if (r->failed)
		return;
	r->failed = true;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	err_set(r->e, ERR_INVALID, "expression: at character %zu: %s", r->at, text);
}

void yq_step(struct yq_run *r)
{
	if (++r->steps > YQ_STEPS_MAX)
		yq_fail(r, "the expression takes more than %d steps", YQ_STEPS_MAX);
	else if (yn_pool_size(r->pool) > YQ_MEMORY_MAX)
		yq_fail(r, "the expression takes more than %d MiB of memory", YQ_MEMORY_MAX >> 20);
}

void yq_work(struct yq_run *r, size_t bytes)
{
	r->steps += bytes / YQ_BYTES_A_STEP;
	yq_step(r);
}

struct yq_node *yq_scalar(struct yq_run *r, enum yq_tag tag, const char *text, size_t len)
{
	struct yq_node *n = yn_alloc(r->pool, sizeof(*n));

	yq_work(r, len);
	n->tag = tag;
	n->text = yn_strndup(r->pool, text, len);
	n->len = len;
	return n;
}

struct yq_node *yq_word(struct yq_run *r, enum yq_tag tag, const char *text)
{
	return yq_scalar(r, tag, text, strlen(text));
}

struct yq_node *yq_number(struct yq_run *r, size_t n)
{
	return yq_word(r, YQ_INT, yn_printf(r->pool, "%zu", n));
}

struct yq_node *yq_collection(struct yq_run *r, enum yq_shape shape)
{
	struct yq_node *n = yq_scalar(r, shape == YQ_MAP ? YQ_TAG_MAP : YQ_TAG_LIST, "", 0);

	n->shape = shape;
	return n;
}

struct yq_node *yq_copy_shell(struct yq_run *r, const struct yq_node *n)
{
	struct yq_node *out = yn_alloc(r->pool, sizeof(*out));

	yq_step(r);
	*out = *n;
	out->child = NULL;
	out->count = out->room = 0;
	if (n->key) {
		out->key = yn_alloc(r->pool, sizeof(*out->key));
		*out->key = *n->key;
	}
	return out;
}

static struct yq_node *copy(struct yq_run *r, const struct yq_node *n, unsigned depth);

static void attach(struct yq_run *r, struct yq_node *parent, struct yq_node *child)
{
	unsigned depth = 0;

	child->parent = parent;
	for (const struct yq_node *up = parent; up; up = up->parent) {
		if (depth++ > YQ_NESTING_MAX) {
			yq_fail(r, "values would be nested more than %d deep", YQ_NESTING_MAX);
			return;
		}
	}
}

void yq_push_child(struct yq_run *r, struct yq_node *n, struct yq_node *child)
{
	if (n->count == n->room) {
		size_t room = n->room ? 2 * n->room : 4;
		struct yq_node **grown = yn_alloc(r->pool, room * sizeof(*grown));

		if (n->count)
			memcpy(grown, n->child, n->count * sizeof(*grown));
		n->child = grown;
		n->room = room;
	}
	n->child[n->count++] = child;
}

static void add_item(struct yq_run *r, struct yq_node *list, const struct yq_node *value, unsigned depth)
{
	struct yq_node *v = copy(r, value, depth);

	v->is_key = v->is_index = false;
	v->key = NULL;
	v->has_index = true;
	v->index = list->count;
	attach(r, list, v);
	yq_push_child(r, list, v);
}

static void add_pair(struct yq_run *r, struct yq_node *map, const struct yq_node *key, const struct yq_node *value,
		     unsigned depth)
{
	struct yq_node *k = copy(r, key, depth), *v = copy(r, value, depth);

	if (map->count / 2 >= YN_KEYS_MAX) {
		yq_fail(r, "a map would have more than %d keys", YN_KEYS_MAX);
		return;
	}
	if (k->shape != YQ_SCALAR)
		yq_fail(r, "a key must be a word, not a list or a map");
	k->is_key = true;
	k->is_index = false;
	attach(r, map, k);
	v->is_key = v->is_index = v->has_index = false;
	v->key = k;
	attach(r, map, v);
	yq_push_child(r, map, k);
	yq_push_child(r, map, v);
}

static void add_children(struct yq_run *r, struct yq_node *n, struct yq_node *const *child, size_t count,
			 unsigned depth)
{
	size_t step = n->shape == YQ_MAP ? 2 : 1;

	for (size_t i = 0; i + step <= count && !r->failed; i += step) {
		if (step == 2)
			add_pair(r, n, child[i], child[i + 1], depth);
		else
			add_item(r, n, child[i], depth);
	}
}

static struct yq_node *copy(struct yq_run *r, const struct yq_node *n, unsigned depth)
{
	struct yq_node *out = yq_copy_shell(r, n);

	if (depth > YQ_NESTING_MAX)
		yq_fail(r, "values would be nested more than %d deep", YQ_NESTING_MAX);
	else
		add_children(r, out, n->child, n->count, depth + 1);
	return out;
}

struct yq_node *yq_copy(struct yq_run *r, const struct yq_node *n)
{
	return copy(r, n, 0);
}

void yq_add_item(struct yq_run *r, struct yq_node *list, const struct yq_node *value)
{
	add_item(r, list, value, 0);
}

void yq_add_pair(struct yq_run *r, struct yq_node *map, const struct yq_node *key, const struct yq_node *value)
{
	if (yq_find_text(map, key->text, key->len) < map->count)
		yq_fail(r, "the key \"%.60s\" would be there twice", key->text);
	else
		add_pair(r, map, key, value, 0);
}

void yq_add_children(struct yq_run *r, struct yq_node *n, struct yq_node *const *child, size_t count)
{
	add_children(r, n, child, count, 0);
}

struct yq_node *yq_at(struct yq_node *n, struct yq_node *replacement)
{
	replacement->parent = n->parent;
	replacement->key = n->is_key ? n : n->key;
	replacement->has_index = !n->is_key && n->has_index;
	replacement->index = n->index;
	return replacement;
}

struct yq_node *yq_copy_at(struct yq_run *r, struct yq_node *n, const struct yq_node *replacement)
{
	return yq_at(n, yq_copy(r, replacement));
}

struct yq_node *yq_bool_at(struct yq_run *r, struct yq_node *n, bool value)
{
	struct yq_node *b = yq_word(r, YQ_BOOL, value ? "true" : "false");

	return n ? yq_at(n, b) : b;
}

bool yq_is(const struct yq_node *n, const char *text)
{
	return n->len == strlen(text) && !memcmp(n->text, text, n->len);
}

bool yq_text_same(const struct yq_node *a, const struct yq_node *b)
{
	return a->len == b->len && (a->text == b->text || !memcmp(a->text, b->text, a->len));
}

int yq_text_order(const struct yq_node *a, const struct yq_node *b)
{
	int d = memcmp(a->text, b->text, a->len < b->len ? a->len : b->len);

	return d ? d : a->len < b->len ? -1 : a->len > b->len;
}

bool yq_is_merge_key(const struct yq_node *key)
{
	return (key->marks & YQ_UNCLEAR) && yq_is(key, "<<");
}

size_t yq_find_text(const struct yq_node *map, const char *text, size_t len)
{
	size_t i = 0;

	while (i + 1 < map->count && (map->child[i]->len != len || memcmp(map->child[i]->text, text, len)))
		i += 2;
	return i < map->count ? i : map->count;
}

size_t yq_find_key(struct yq_run *r, const struct yq_node *map, const struct yq_node *key)
{
	size_t i = 0;

	while (i + 1 < map->count && !r->failed && !yq_same(r, map->child[i], key))
		i += 2;
	return i < map->count ? i : map->count;
}
