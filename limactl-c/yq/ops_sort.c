/* sort, sort_by, sort_keys, unique, unique_by, group_by. */
#include <stdlib.h>
#include <string.h>

#include "limactl-c/yq/arith.h"
#include "limactl-c/yq/eval.h"

enum { INSERTION_MAX = 20 }; /* up to so many items yq sorts by insertion */

struct sortable {
	struct yq_node *node;
	struct yq_list *by;
};

static bool is_number(const struct yq_node *n)
{
	return n->tag == YQ_INT || n->tag == YQ_FLOAT;
}

/* null < false < true < others; numbers by value, all else by text. mixed: a number met something else. */
static int order(struct yq_run *r, const struct yq_node *a, const struct yq_node *b, bool *mixed)
{
	struct yq_ints i;
	double x, y;

	yq_work(r, a->len);
	yq_must_know(r, a, YQ_BY_TYPE);
	yq_must_know(r, b, YQ_BY_TYPE);
	if (a->tag == YQ_NULL || b->tag == YQ_NULL)
		return a->tag == b->tag ? yq_text_order(a, b) : a->tag == YQ_NULL ? -1 : 1;
	if (a->tag == YQ_BOOL || b->tag == YQ_BOOL) {
		if (a->tag != b->tag)
			return a->tag == YQ_BOOL ? -1 : 1;
		return (int)yq_truthy(r, a) - (int)yq_truthy(r, b);
	}
	if (yq_ints(r, a, b, &i)) {
		int64_t d = (int64_t)((uint64_t)i.a - (uint64_t)i.b);

		return d < 0 ? -1 : d > 0;
	}
	if (yq_floats(r, a, b, &x, &y))
		return x < y ? -1 : x > y;
	*mixed |= is_number(a) != is_number(b);
	return yq_text_order(a, b);
}

static bool less(struct yq_run *r, const struct sortable *a, const struct sortable *b, bool *mixed)
{
	for (size_t i = 0; i < a->by->count && i < b->by->count && !r->failed; i++) {
		int d = order(r, a->by->item[i], b->by->item[i], mixed);

		if (d)
			return d < 0;
	}
	return a->by->count < b->by->count;
}

static void insertion(struct yq_run *r, struct sortable *s, size_t n, bool *mixed)
{
	for (size_t i = 1; i < n; i++) {
		for (size_t j = i; j && !r->failed && less(r, &s[j], &s[j - 1], mixed); j--) {
			struct sortable swap = s[j];

			yq_step(r);
			s[j] = s[j - 1];
			s[j - 1] = swap;
		}
	}
}

static void merge_sort(struct yq_run *r, struct sortable *s, struct sortable *space, size_t n, bool *mixed)
{
	size_t half = n / 2, a = 0, b = half, out = 0;

	if (n < 2 || r->failed)
		return;
	merge_sort(r, s, space, half, mixed);
	merge_sort(r, s + half, space, n - half, mixed);
	while (a < half && b < n) {
		yq_step(r);
		space[out++] = less(r, &s[b], &s[a], mixed) ? s[b++] : s[a++];
	}
	while (a < half)
		space[out++] = s[a++];
	/* What is left of the second half stands where it belongs. */
	memcpy(s, space, out * sizeof(*s));
}

static void sort(struct yq_run *r, struct sortable *s, size_t n)
{
	bool mixed = false;

	if (n <= INSERTION_MAX) {
		insertion(r, s, n, &mixed);
		return;
	}
	merge_sort(r, s, yn_alloc(r->pool, n * sizeof(*s)), n, &mixed);
	if (mixed)
		yq_fail(r, "more than %d numbers and texts together have no order", INSERTION_MAX);
}

static struct yq_node *sorted(struct yq_run *r, struct yq_ctx c, struct yq_node *n, const struct yq_exp *x)
{
	size_t step = n->shape == YQ_MAP ? 2 : 1, count = n->count / step;
	struct sortable *s = yn_alloc(r->pool, count * sizeof(*s));
	struct yq_node *out;

	if (n->shape == YQ_SCALAR) {
		yq_fail(r, "%s works on lists and maps, not on %s", x->op->name, yq_tag_word(n->tag));
		return NULL;
	}
	for (size_t i = 0; i < count; i++) {
		s[i].node = n->child[i * step + step - 1];
		s[i].by = yq_eval(r, yq_read_one(r, c, s[i].node), x->right).list;
	}
	sort(r, s, count);
	out = yq_copy_shell(r, n);
	for (size_t i = 0; i < count && !r->failed; i++) {
		if (step == 2)
			yq_add_pair(r, out, s[i].node->key, s[i].node);
		else
			yq_add_item(r, out, s[i].node);
	}
	return out;
}

static struct yq_ctx run_sort(struct yq_run *r, struct yq_ctx c, const struct yq_exp *x)
{
	return yq_each(r, c, x, sorted);
}

/* Of pairs of a key and a value. */
static int by_key(const void *a, const void *b)
{
	return yq_text_order(*(struct yq_node *const *)a, *(struct yq_node *const *)b);
}

static void sort_keys(struct yq_run *r, struct yq_node *map)
{
	yq_may_grow(r, map);
	for (size_t i = 0; i < map->count; i += 2)
		yq_work(r, map->child[i]->len);
	if (!r->failed && map->count)
		qsort(map->child, map->count / 2, 2 * sizeof(*map->child), by_key);
}

static struct yq_ctx run_sort_keys(struct yq_run *r, struct yq_ctx c, const struct yq_exp *x)
{
	for (size_t i = 0; i < c.list->count && !r->failed; i++) {
		struct yq_ctx got = yq_eval(r, yq_read_one(r, c, c.list->item[i]), x->right);

		for (size_t j = 0; j < got.list->count && !r->failed; j++) {
			yq_must_know(r, got.list->item[j], YQ_BY_TEXT);
			if (got.list->item[j]->shape == YQ_MAP)
				sort_keys(r, got.list->item[j]);
		}
	}
	return c;
}

/* What items are told apart by: the first result, null when there is none. */
static struct yq_node *key_of(struct yq_run *r, struct yq_ctx c, struct yq_node *item, const struct yq_exp *x)
{
	struct yq_ctx got = yq_eval(r, yq_read_one(r, c, item), x->right);
	struct yq_node *key = yq_first_of(&got);

	if (!key)
		return yq_word(r, YQ_NULL, "null");
	yq_must_know(r, key, YQ_BY_TEXT);
	return key;
}

/* yq compares collections by the YAML they are written as, comments included. */
static bool has_comment(const struct yq_node *n)
{
	const struct ynode *from = n->from;
	const char *text, *p, *end;

	for (size_t i = 0; i < n->count; i++) {
		if (has_comment(n->child[i]))
			return true;
	}
	if (!from || !from->source)
		return false;
	text = from->source->text;
	/* From the line before to the end of the line behind. */
	p = text + from->start;
	for (unsigned lines = 0; p > text && lines < 3; p--)
		lines += p[-1] == '\n';
	end = text + from->end;
	for (unsigned lines = 0; *end && lines < 2; end++)
		lines += *end == '\n';
	return memchr(p, '#', (size_t)(end - p)) != NULL;
}

static bool same_style(const struct yq_node *a, const struct yq_node *b)
{
	if (a->style != b->style || a->tag != b->tag || a->count != b->count)
		return false;
	for (size_t i = 0; i < a->count; i++) {
		if (!yq_text_same(a->child[i], b->child[i]) || !same_style(a->child[i], b->child[i]))
			return false;
	}
	return true;
}

static bool same_key(struct yq_run *r, const struct yq_node *a, const struct yq_node *b)
{
	if (a->shape == YQ_SCALAR && b->shape == YQ_SCALAR)
		return yq_text_same(a, b);
	if (a->shape != b->shape) {
		const struct yq_node *text = a->shape == YQ_SCALAR ? a : b;

		if (text->len && text->text[text->len - 1] == '\n')
			yq_fail(r, "texts of several lines cannot be told from lists and maps");
		return false;
	}
	if (!yq_same(r, a, b))
		return false;
	if (!same_style(a, b) || has_comment(a) || has_comment(b))
		yq_fail(r, "two equal items are written differently, or with comments, which counts for unique");
	return true;
}

static struct yq_node *unique(struct yq_run *r, struct yq_ctx c, struct yq_node *n, const struct yq_exp *x)
{
	struct yq_list *seen = yq_new_list(r);
	struct yq_node *out;

	if (!yq_must_be_list(r, n, x))
		return NULL;
	out = yq_at(n, yq_collection(r, YQ_LIST));
	out->style = n->style;
	for (size_t i = 0; i < n->count && !r->failed; i++) {
		struct yq_node *key = key_of(r, c, n->child[i], x);
		size_t j = 0;

		for (; j < seen->count && !r->failed && !same_key(r, seen->item[j], key); j++)
			yq_work(r, key->len);
		if (j < seen->count)
			continue;
		yq_push(r, seen, key);
		yq_add_item(r, out, n->child[i]);
	}
	return out;
}

static struct yq_ctx run_unique(struct yq_run *r, struct yq_ctx c, const struct yq_exp *x)
{
	return yq_each(r, c, x, unique);
}

static struct yq_node *grouped(struct yq_run *r, struct yq_ctx c, struct yq_node *n, const struct yq_exp *x)
{
	struct yq_list *keys = yq_new_list(r), *groups = yq_new_list(r);
	struct yq_node *out;

	if (!yq_must_be_list(r, n, x))
		return NULL;
	for (size_t i = 0; i < n->count && !r->failed; i++) {
		struct yq_node *key = key_of(r, c, n->child[i], x);
		size_t j = 0;

		for (; j < keys->count && !r->failed && !yq_text_same(keys->item[j], key); j++)
			yq_work(r, key->len);
		if (j == keys->count) {
			yq_push(r, keys, key);
			yq_push(r, groups, yq_collection(r, YQ_LIST));
		}
		yq_add_item(r, groups->item[j], n->child[i]);
	}
	out = yq_at(n, yq_collection(r, YQ_LIST));
	for (size_t i = 0; i < groups->count && !r->failed; i++)
		yq_add_item(r, out, groups->item[i]);
	return out;
}

static struct yq_ctx run_group(struct yq_run *r, struct yq_ctx c, const struct yq_exp *x)
{
	return yq_each(r, c, x, grouped);
}

const struct yq_op yq_op_sort = { "sort", 0, 52, true, YQ_BY_TEXT, run_sort };
const struct yq_op yq_op_sort_by = { "sort_by", 1, 52, true, YQ_BY_TEXT, run_sort };
const struct yq_op yq_op_sort_keys = { "sort_keys", 1, 52, true, 0, run_sort_keys };
const struct yq_op yq_op_unique = { "unique", 0, 52, true, YQ_BY_TEXT, run_unique };
const struct yq_op yq_op_unique_by = { "unique_by", 1, 52, true, YQ_BY_TEXT, run_unique };
const struct yq_op yq_op_group_by = { "group_by", 1, 52, true, YQ_BY_TEXT, run_group };
