#include "limactl-c/yq/tree.h"

#include "limactl-c/yq/number.h"

void yq_may_grow(struct yq_run *r, const struct yq_node *n)
{
	if (!r->linked)
		return;
	for (; n; n = n->parent) {
		if (n->marks & (YQ_ALIASED | YQ_ANCHORED)) {
			yq_fail(r, "this would change what has an anchor (&) or is an alias (*): edit it in the text");
			return;
		}
	}
}

static bool holds_anchor(const struct yq_node *n)
{
	if (n->marks & YQ_ANCHORED)
		return true;
	for (size_t i = 0; i < n->count; i++) {
		if (holds_anchor(n->child[i]))
			return true;
	}
	return false;
}

void yq_may_change(struct yq_run *r, const struct yq_node *n)
{
	yq_may_grow(r, n);
	if (r->linked && !r->failed && holds_anchor(n))
		yq_fail(r, "this would replace a value with an anchor (&) in it: edit it in the text");
}

void yq_must_know(struct yq_run *r, const struct yq_node *n, unsigned marks)
{
	marks &= n->marks;
	if (marks & YQ_ALIASED)
		yq_fail(r, "an alias (*) cannot be looked at by an expression");
	else if (marks & YQ_TAGGED)
		yq_fail(r, "a value with a tag (!) cannot be looked at by an expression");
	else if (marks & YQ_UNCLEAR)
		yq_fail(r, "\"%.60s\" is of another type in YAML 1.1 than in YAML 1.2: put it in quotes", n->text);
}

/* A null that became a collection still counts as null when its text says so. */
static enum yq_tag effective_tag(const struct yq_node *n)
{
	return n->tag == YQ_TAG_NONE && n->len ? YQ_NULL : n->tag;
}

void yq_become_kind(struct yq_node *n, const struct yq_node *other)
{
	if (n == other)
		return;
	if (n->shape != other->shape) {
		n->child = NULL;
		n->count = n->room = 0;
		n->text = "";
		n->len = 0;
		n->from = NULL;
	}
	if (n->tag != other->tag)
		n->from = n->shape == YQ_SCALAR ? NULL : n->from;
	n->shape = other->shape;
	n->tag = other->tag;
	n->marks = (n->marks & YQ_ANCHORED) | (other->marks & ~(unsigned)YQ_ANCHORED);
	if (n->style == YN_PLAIN)
		n->style = other->style;
}

/* Two keys of one text have no place in our trees. */
static void check_new_key(struct yq_run *r, const struct yq_node *key, const struct yq_node *other)
{
	const struct yq_node *map = key->parent;

	if (other->shape != YQ_SCALAR)
		yq_fail(r, "a key must be a word, not a list or a map");
	else if (map && map->shape == YQ_MAP && !yq_text_same(key, other) &&
		 yq_find_text(map, other->text, other->len) < map->count)
		yq_fail(r, "the key \"%.60s\" would be there twice", other->text);
}

void yq_become(struct yq_run *r, struct yq_node *n, const struct yq_node *other)
{
	struct yq_node *const *child = other->child;
	size_t count = other->count;
	enum yn_style style = n->style;

	if (n == other)
		return;
	yq_may_change(r, n);
	if (n->is_index)
		yq_fail(r, "the number of an item cannot be changed");
	if (n->is_key)
		check_new_key(r, n, other);
	if (r->failed)
		return;
	if ((n->shape != YQ_SCALAR && !n->count) || effective_tag(n) != effective_tag(other))
		n->style = other->style;
	if (n->shape != other->shape || (n->shape == YQ_SCALAR && !yq_text_same(n, other)))
		n->from = NULL;
	n->child = NULL;
	n->count = n->room = 0;
	n->shape = other->shape;
	yq_add_children(r, n, child, count);
	n->text = other->text;
	n->len = other->len;
	yq_become_kind(n, other);
	if (n->shape == YQ_SCALAR && n->style != style)
		n->from = NULL;
}
