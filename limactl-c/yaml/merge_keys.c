/* merge_keys.c - merge keys carried out: the values of other maps that a map does not give itself. */
#include "limactl-c/yaml/parse.h"
#include "limactl-c/yaml/yscalar.h"

struct merging {
	struct yn_pool *pool;
	struct findings *f;
	size_t nodes; /* copied so far, those that are merged and not used included */
	bool refused;
};

static struct ynode *copy(struct merging *m, const struct ynode *n, unsigned depth);

/* More than a tree may have: only what was not parsed, or names itself in a circle, comes this far. */
static bool is_within_bounds(struct merging *m, const struct ynode *n, unsigned depth)
{
	if (!m->refused && (++m->nodes > YN_NODES_MAX || depth > YN_DEPTH_MAX)) {
		finding_error(m->f, yn_place(n), NULL, "merge keys make more than %d values, or deeper than %d",
			      YN_NODES_MAX, YN_DEPTH_MAX);
		m->refused = true;
	}
	return !m->refused;
}

/* The keys of a merged map that are not there yet. */
static void take_missing(struct merging *m, struct ynode *out, const struct ynode *from)
{
	for (size_t i = 0; i < from->count && !m->refused; i++) {
		if (yn_find(out, from->key[i]->text, from->key[i]->len) < out->count)
			continue;
		if (out->count == YN_KEYS_MAX) {
			finding_error(m->f, yn_place(from->key[i]), NULL, "merge keys make more than %d keys in one mapping",
				      YN_KEYS_MAX);
			m->refused = true;
			return;
		}
		yn_put(m->pool, out, from->key[i], from->item[i]);
	}
}

static void merge(struct merging *m, struct ynode *out, const struct ynode *value, unsigned depth)
{
	size_t maps = value->kind == YN_LIST ? value->count : 1;

	for (size_t i = 0; i < maps; i++) {
		const struct ynode *from = value->kind == YN_LIST ? value->item[i] : value;

		if (from->kind == YN_MAP)
			take_missing(m, out, copy(m, from, depth));
		else
			finding_error(m->f, yn_place(from), NULL, "`<<` merges mappings, not %s", yn_kind_word(from->kind));
	}
}

static struct ynode *copy(struct merging *m, const struct ynode *n, unsigned depth)
{
	struct ynode *out = yn_alloc(m->pool, sizeof(*out));

	*out = *n;
	out->origin = yn_origin(n);
	out->item = out->key = NULL;
	out->count = out->room = 0;
	if (!is_within_bounds(m, n, depth))
		return out;
	for (size_t i = 0; i < n->count; i++) {
		if (n->kind == YN_LIST)
			yn_add(m->pool, out, copy(m, n->item[i], depth + 1));
		else if (!yscalar_is_merge_key(n->key[i]))
			yn_put(m->pool, out, yn_copy(m->pool, n->key[i]), copy(m, n->item[i], depth + 1));
	}
	for (size_t i = 0; n->kind == YN_MAP && i < n->count; i++) {
		if (yscalar_is_merge_key(n->key[i]))
			merge(m, out, n->item[i], depth + 1);
	}
	return out;
}

struct ynode *yn_merge_keys(struct yn_pool *p, const struct ynode *root, struct findings *f)
{
	struct merging m = { .pool = p, .f = f };

	return copy(&m, root, 0);
}
