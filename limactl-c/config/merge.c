#include "limactl-c/config/merge.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* How a value given twice becomes one. Maps and scalars without a row: deep, the higher one wins. */
enum how {
	HOW_DEFAULT,
	HOW_HIGHER_FIRST, /* lists: items of the higher, then those of the lower */
	HOW_LOWER_FIRST,  /* lists: the other way round */
	HOW_REPLACE,      /* the higher one's list alone */
	HOW_FILLED,       /* the same, but an empty list counts as none */
	HOW_KEYS,         /* maps: key by key, what lies below a key is not merged */
	HOW_NEWER,        /* the higher version */
};

enum flag {
	LAYERS_ONCE = 1, /* of layers: an item that is there already is dropped */
	BASES_ONCE = 2,  /* of bases */
	LAYERS_JOIN = 4, /* entries of one key become one in layers too, where the later one wins; in bases the earlier */
	WORDS = 8,       /* an entry may be its key alone */
};

/* One row for each list and each value with a rule of its own. */
struct rule {
	const char *path;
	enum how layers, bases;
	unsigned flags;
	const char *key, *key_else;      /* what tells entries apart; key_else stands in for a missing key */
	const char *fixed;               /* in layers this field of the earlier entry stays */
	const char *choice, *choice_not; /* fields of which an entry has one */
};
#define ROW(p, l, b, ...) { .path = (p), .layers = HOW_##l, .bases = HOW_##b, __VA_ARGS__ }

static const struct rule rules[] = {
	ROW("images", HIGHER_FIRST, HIGHER_FIRST),
	ROW("firmware.images", HIGHER_FIRST, HIGHER_FIRST),
	ROW("containerd.archives", HIGHER_FIRST, HIGHER_FIRST),
	ROW("provision", HIGHER_FIRST, LOWER_FIRST),
	ROW("probes", HIGHER_FIRST, LOWER_FIRST),
	ROW("base", REPLACE, LOWER_FIRST),
	ROW("portForwards", HIGHER_FIRST, HIGHER_FIRST),
	ROW("copyToHost", HIGHER_FIRST, HIGHER_FIRST),
	ROW("additionalDisks", HIGHER_FIRST, HIGHER_FIRST, .key = "name", .flags = WORDS),
	ROW("mounts", LOWER_FIRST, HIGHER_FIRST, .key = "mountPoint", .key_else = "location", .fixed = "location",
	    .flags = LAYERS_JOIN),
	ROW("networks", LOWER_FIRST, HIGHER_FIRST, .key = "interface", .choice = "lima", .choice_not = "socket",
	    .flags = LAYERS_JOIN),
	ROW("mountTypesUnsupported", HIGHER_FIRST, HIGHER_FIRST, .flags = BASES_ONCE),
	ROW("caCerts.files", LOWER_FIRST, HIGHER_FIRST, .flags = LAYERS_ONCE),
	ROW("caCerts.certs", LOWER_FIRST, HIGHER_FIRST, .flags = LAYERS_ONCE),
	ROW("dns", FILLED, FILLED),
	ROW("env", KEYS, DEFAULT),
	ROW("param", KEYS, DEFAULT),
	ROW("hostResolver.hosts", KEYS, DEFAULT),
	ROW("vmOpts", KEYS, DEFAULT),
	ROW("osOpts", KEYS, DEFAULT),
	ROW("minimumLimaVersion", DEFAULT, NEWER),
	ROW("vmOpts.qemu.minimumVersion", DEFAULT, NEWER),
	/* Ours. Of kernel arguments the last one counts. */
	ROW("guest.kernelArgs", LOWER_FIRST, LOWER_FIRST),
	ROW("tuning.cacheTrimUnless", REPLACE, REPLACE),
	ROW("tuning.fstrim", REPLACE, REPLACE),
};
enum { RULES = sizeof(rules) / sizeof(*rules), PATH_LEN = 80 };

enum what { LAYERS, BASES, ENTRIES };
struct merge {
	struct yn_pool *p;
	enum what what;
	/* Of entries: */
	const struct rule *rule;
	bool many;       /* to be given to several, "*": each gets a copy */
	bool without_key, has_choice;
	size_t given;    /* values copied so, and times it was tried */
};

static enum how how_of(const struct merge *m, const char *path)
{
	for (size_t i = 0; m->what != ENTRIES && i < RULES; i++) {
		if (!strcmp(rules[i].path, path))
			return m->what == LAYERS ? rules[i].layers : rules[i].bases;
	}
	/* A list we do not know: its items are added only where Lima adds those of every list. */
	return m->what == BASES ? HOW_HIGHER_FIRST : HOW_FILLED;
}

/* "1.0.2" < "1.0.10"; "1.1.0-beta" < "1.1.0"; a leading v says nothing */
static bool is_newer(const char *a, const char *b)
{
	a += *a == 'v';
	b += *b == 'v';
	for (;;) {
		char *a_end, *b_end;
		unsigned long x = strtoul(a, &a_end, 10), y = strtoul(b, &b_end, 10);

		if (x != y)
			return x > y;
		if (*a_end != '.' || *b_end != '.')
			return *a_end == '-' && *b_end == '-' ? strcmp(a_end, b_end) > 0
							      : *b_end == '-' || (*a_end == '.' && !*b_end);
		a = a_end + 1;
		b = b_end + 1;
	}
}

static void add_all(struct yn_pool *p, struct ynode *into, const struct ynode *from, bool front)
{
	struct ynode *own = yn_list(p);

	for (size_t i = 0; front && i < into->count; i++)
		yn_add(p, own, into->item[i]);
	if (front)
		into->count = 0;
	for (size_t i = 0; i < from->count; i++)
		yn_add(p, into, yn_copy(p, from->item[i]));
	for (size_t i = 0; i < own->count; i++)
		yn_add(p, into, own->item[i]);
}

/* Null says "not set", but for a template: there it keeps what a base says out. */
static bool is_unset(const struct merge *m, const struct ynode *n)
{
	if (m->what == BASES)
		return false;
	return n->kind == YN_NULL || (m->what == ENTRIES && m->rule->choice && n->kind == YN_STRING && !n->len);
}

static void fill(struct merge *m, struct ynode *into, const struct ynode *from, const char *path);

static size_t count_values(const struct ynode *n)
{
	size_t count = 1;

	for (size_t i = 0; i < n->count; i++)
		count += count_values(n->item[i]);
	return count;
}

/* A value for another tree. An entry that becomes part of another is not needed any more: its values move. */
static struct ynode *give(struct merge *m, struct ynode *n)
{
	if (m->what == ENTRIES && m->many)
		m->given += count_values(n);
	return (m->what == ENTRIES && !m->many) || m->given > YN_NODES_MAX ? n : yn_copy(m->p, n);
}

static void take(struct merge *m, struct ynode *into, size_t at, const struct ynode *from, size_t i)
{
	into->key[at] = give(m, from->key[i]);
	into->item[at] = give(m, from->item[i]);
}

/* into has the key at `at`, from at `i`; path is the value's. */
static void join(struct merge *m, struct ynode *into, size_t at, const struct ynode *from, size_t i,
		 const char *path)
{
	struct ynode *high = into->item[at];
	const struct ynode *low = from->item[i];
	enum how how = how_of(m, path);

	if (is_unset(m, high)) {
		take(m, into, at, from, i);
	} else if (high->kind == YN_MAP && low->kind == YN_MAP) {
		fill(m, high, low, path);
	} else if (high->kind == YN_LIST && low->kind == YN_LIST) {
		if (how == HOW_HIGHER_FIRST || how == HOW_LOWER_FIRST)
			add_all(m->p, high, low, how == HOW_LOWER_FIRST);
		else if (how == HOW_FILLED && !high->count)
			take(m, into, at, from, i);
	} else if (how == HOW_NEWER && yn_is_scalar(high) && yn_is_scalar(low) && is_newer(low->text, high->text)) {
		take(m, into, at, from, i);
	}
}

static const struct ynode *scalar_at(const struct ynode *map, const char *key)
{
	const struct ynode *n = key ? yn_get(map, key) : NULL;

	return n && n->kind != YN_NULL && yn_is_scalar(n) ? n : NULL;
}

static bool has_text(const struct ynode *map, const char *key)
{
	const struct ynode *n = scalar_at(map, key);

	return n && n->len;
}

/* Fields an entry does not take: its key, when it is for many; one of those that exclude each other. */
static bool is_kept_out(const struct merge *m, const char *key)
{
	const struct rule *r = m->rule;

	if (m->without_key && (!strcmp(key, r->key) || (r->key_else && !strcmp(key, r->key_else))))
		return true;
	return m->has_choice && (!strcmp(key, r->choice) || !strcmp(key, r->choice_not));
}

/* Gives into what it lacks of from. Both are maps. */
static void fill(struct merge *m, struct ynode *into, const struct ynode *from, const char *path)
{
	bool whole = how_of(m, path) == HOW_KEYS;

	for (size_t i = 0; i < from->count; i++) {
		const struct ynode *key = from->key[i];
		size_t at = yn_find(into, key->text, key->len);
		char sub[PATH_LEN]; /* one that does not fit is no row's */

		snprintf(sub, sizeof(sub), "%s%s%s", path, *path ? "." : "", key->text);
		if (m->what == ENTRIES && !*path && is_kept_out(m, key->text))
			continue;
		if (at == into->count)
			yn_put(m->p, into, give(m, from->key[i]), give(m, from->item[i]));
		else if (!whole)
			join(m, into, at, from, i, sub);
	}
}

static bool is_word(const struct rule *r, const struct ynode *entry)
{
	return entry->kind == YN_STRING && (r->flags & WORDS);
}

/* What says which entry this is: NULL when it does not. */
static const struct ynode *entry_key(const struct rule *r, const struct ynode *entry)
{
	const struct ynode *n = is_word(r, entry) ? entry : scalar_at(entry, r->key);

	if (!n)
		n = scalar_at(entry, r->key_else);
	return n && n->len ? n : NULL;
}

/* A word becomes the map it is short for, at its place. */
static struct ynode *word_to_map(struct yn_pool *p, struct ynode *word, const char *key)
{
	struct ynode *map = yn_map(p);

	yn_set(p, map, key, word);
	yn_stand_for(map, word);
	return map;
}

/* What entry lacks comes from other. */
static void fill_entry(struct merge *m, struct ynode **entry, const struct ynode *other)
{
	bool word = is_word(m->rule, *entry);
	const char *first = other->kind == YN_MAP && other->count ? other->key[0]->text : NULL;

	m->given += m->many;
	if (!first || ((*entry)->kind != YN_MAP && !word) || m->given > YN_NODES_MAX)
		return;
	/* It stays a word where there is nothing but the key to take. */
	m->without_key = m->many || word;
	m->has_choice = m->rule->choice && (has_text(*entry, m->rule->choice) || has_text(*entry, m->rule->choice_not));
	if (word && (other->count > 1 || !is_kept_out(m, first)))
		*entry = word_to_map(m->p, *entry, m->rule->key);
	if ((*entry)->kind == YN_MAP)
		fill(m, *entry, other, "");
}

/* The later entry over the earlier one, in its place. */
static void put_over(struct merge *m, struct ynode **earlier, struct ynode *later)
{
	struct ynode *fixed = m->rule->fixed ? yn_get(*earlier, m->rule->fixed) : NULL;

	fill_entry(m, &later, *earlier);
	if (fixed && later->kind == YN_MAP)
		yn_set(m->p, later, m->rule->fixed, fixed);
	*earlier = later;
}

/* Where entries are by their keys. */
struct index {
	size_t *slot; /* of entries kept so far, from 1; 0: free */
	const struct ynode **key;
	size_t mask;
	bool paths; /* "/a/" and "/a" are one */
};

static struct index index_new(struct yn_pool *p, size_t count, bool paths)
{
	size_t size = 16;

	while (size < 2 * count)
		size *= 2;
	return (struct index){ yn_alloc(p, size * sizeof(size_t)), yn_alloc(p, count * sizeof(struct ynode *)), size - 1, paths };
}

/* Bytes of a key that count. */
static size_t key_length(const struct index *x, const struct ynode *key)
{
	size_t n = key->len;

	while (x->paths && n > 1 && key->text[n - 1] == '/')
		n--;
	return n;
}

static bool same_key(const struct index *x, const struct ynode *a, const struct ynode *b)
{
	size_t n = key_length(x, a);

	return n == key_length(x, b) && !memcmp(a->text, b->text, n);
}

/* The slot of key, or the free one for it. */
static size_t *index_slot(const struct index *x, const struct ynode *key)
{
	size_t n = key_length(x, key), h = 5381;

	for (size_t i = 0; i < n; i++)
		h = h * 33 + (unsigned char)key->text[i];
	while (x->slot[h & x->mask] && !same_key(x, x->key[x->slot[h & x->mask] - 1], key))
		h++;
	return &x->slot[h & x->mask];
}

/* Of equal scalars the first stays. */
static void keep_once(struct yn_pool *p, struct ynode *list)
{
	struct index x = index_new(p, list->count, false);
	size_t kept = 0;

	for (size_t i = 0; i < list->count; i++) {
		struct ynode *item = list->item[i];
		size_t *slot = yn_is_scalar(item) ? index_slot(&x, item) : NULL;

		if (slot && *slot)
			continue;
		x.key[kept] = item;
		list->item[kept++] = item;
		if (slot)
			*slot = kept;
	}
	list->count = kept;
}

static int combine(struct yn_pool *p, const struct rule *r, struct ynode *list, bool layers)
{
	struct merge m = { .p = p, .what = ENTRIES, .rule = r };
	struct index x = index_new(p, list->count, true);
	size_t kept = 0;

	for (size_t i = 0; i < list->count; i++) {
		struct ynode *entry = list->item[i];
		const struct ynode *key = entry_key(r, entry);
		size_t *slot = key ? index_slot(&x, key) : NULL;

		m.many = key && !layers && !strcmp(key->text, "*");
		if (m.many) {
			for (size_t k = 0; k < kept; k++)
				fill_entry(&m, &list->item[k], entry);
		} else if (slot && *slot && layers) {
			put_over(&m, &list->item[*slot - 1], entry);
		} else if (slot && *slot) {
			fill_entry(&m, &list->item[*slot - 1], entry);
		} else {
			x.key[kept] = key;
			list->item[kept++] = entry;
			if (slot)
				*slot = kept;
		}
	}
	list->count = kept;
	return m.given > YN_NODES_MAX ? -1 : 0;
}

/* The list a row is about; NULL when it is not there. */
static struct ynode *list_at(struct ynode *root, const char *path)
{
	const char *dot = strchr(path, '.');
	char group[PATH_LEN];
	struct ynode *n;

	if (dot) {
		snprintf(group, sizeof(group), "%.*s", (int)(dot - path), path);
		root = yn_get(root, group);
	}
	n = yn_get(root, dot ? dot + 1 : path);
	return n && n->kind == YN_LIST ? n : NULL;
}

struct ynode *merge_layers(struct yn_pool *p, const struct ynode *defaults, const struct ynode *instance,
			   const struct ynode *override)
{
	const struct ynode *layer[] = { override, instance, defaults };
	struct merge m = { .p = p, .what = LAYERS };
	struct ynode *out = NULL, *list;

	for (size_t i = 0; i < sizeof(layer) / sizeof(*layer); i++) {
		if (layer[i] && !out)
			out = yn_copy(p, layer[i]);
		else if (layer[i] && out->kind == YN_MAP && layer[i]->kind == YN_MAP)
			fill(&m, out, layer[i], "");
	}
	for (size_t i = 0; out && i < RULES; i++) {
		list = list_at(out, rules[i].path);
		if (list && (rules[i].flags & LAYERS_JOIN))
			combine(p, &rules[i], list, true);
		else if (list && (rules[i].flags & LAYERS_ONCE))
			keep_once(p, list);
	}
	/* What is wrong with the whole is said of the instance's own text. */
	if (override && instance) {
		out->source = instance->source;
		out->line = instance->line;
		out->column = instance->column;
	}
	return out;
}

void merge_base(struct yn_pool *p, struct ynode *root, const struct ynode *base)
{
	struct merge m = { .p = p, .what = BASES };
	struct ynode *list;

	fill(&m, root, base, "");
	for (size_t i = 0; i < RULES; i++) {
		list = rules[i].flags & BASES_ONCE ? list_at(root, rules[i].path) : NULL;
		if (list)
			keep_once(p, list);
	}
}

void merge_combine(struct yn_pool *p, struct ynode *root, struct findings *f)
{
	for (size_t i = 0; i < RULES; i++) {
		struct ynode *list = rules[i].key ? list_at(root, rules[i].path) : NULL;

		if (list && combine(p, &rules[i], list, false) < 0)
			finding_error(f, yn_place(list), rules[i].path, "entries for all (\"*\") make more than %d values",
				      YN_NODES_MAX);
	}
}

/* Scripts of a list: file as a word. */
static void normalise_files(struct yn_pool *p, struct ynode *list)
{
	for (size_t i = 0; list && i < list->count; i++) {
		struct ynode *file = yn_get(list->item[i], "file");

		if (file && file->kind == YN_STRING)
			yn_set(p, list->item[i], "file", word_to_map(p, file, "url"));
	}
}

static void normalise_words(struct yn_pool *p, struct ynode *list, const char *key)
{
	for (size_t i = 0; list && i < list->count; i++) {
		if (list->item[i]->kind == YN_STRING)
			list->item[i] = word_to_map(p, list->item[i], key);
	}
}

struct ynode *merge_lone(struct yn_pool *p, struct ynode *map, const char *key)
{
	struct ynode *list = yn_list(p), *lone = yn_get(map, key);

	yn_stand_for(list, lone);
	yn_add(p, list, lone);
	yn_set(p, map, key, list);
	return list;
}

void merge_normalise(struct yn_pool *p, struct ynode *root)
{
	const struct ynode *base = yn_get(root, "base");

	if (base && (base->kind == YN_STRING || base->kind == YN_MAP))
		merge_lone(p, root, "base");
	normalise_words(p, list_at(root, "base"), "url");
	normalise_words(p, list_at(root, "additionalDisks"), "name");
	normalise_files(p, list_at(root, "provision"));
	normalise_files(p, list_at(root, "probes"));
}
