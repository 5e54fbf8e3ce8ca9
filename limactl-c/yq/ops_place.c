/* Where values are: path, parent, setpath, delpaths; and what is left of a map or a list: pick, omit. */
#include <string.h>

#include "limactl-c/yq/eval.h"
#include "limactl-c/yq/number.h"
#include "limactl-c/yq/parse.h"

static struct yq_node *path(struct yq_run *r, struct yq_ctx c, struct yq_node *n, const struct yq_exp *x)
{
	struct yq_node *out = yq_at(n, yq_collection(r, YQ_LIST));
	struct yq_step *steps;
	size_t count = yq_path(r, n, &steps);

	(void)c;
	(void)x;
	for (size_t i = 0; i < count && !r->failed; i++)
		yq_add_item(r, out, yq_scalar(r, steps[i].is_index ? YQ_INT : YQ_STR, steps[i].text, steps[i].len));
	return out;
}

static struct yq_ctx run_path(struct yq_run *r, struct yq_ctx c, const struct yq_exp *x)
{
	return yq_each(r, c, x, path);
}

/* parent(2): two levels up; parent(-1): the root. */
static struct yq_node *parent(struct yq_run *r, struct yq_ctx c, struct yq_node *n, const struct yq_exp *x)
{
	int levels = x->number;

	(void)c;
	if (n->is_index)
		yq_fail(r, "parent of an item's number is not supported");
	if (levels < 0) {
		for (const struct yq_node *up = n->parent; up; up = up->parent)
			levels++;
		levels++;
	}
	while (levels-- > 0 && n)
		n = n->parent;
	return n;
}

static struct yq_ctx run_parent(struct yq_run *r, struct yq_ctx c, const struct yq_exp *x)
{
	return yq_each(r, c, x, parent);
}

static struct yq_node *parents(struct yq_run *r, struct yq_ctx c, struct yq_node *n, const struct yq_exp *x)
{
	struct yq_node *out = yq_collection(r, YQ_LIST);

	(void)c;
	(void)x;
	if (n->is_index)
		yq_fail(r, "parents of an item's number is not supported");
	for (const struct yq_node *up = n->parent; up && !r->failed; up = up->parent)
		yq_add_item(r, out, up);
	return out;
}

static struct yq_ctx run_parents(struct yq_run *r, struct yq_ctx c, const struct yq_exp *x)
{
	return yq_each(r, c, x, parents);
}

static struct yq_ctx run_root(struct yq_run *r, struct yq_ctx c, const struct yq_exp *x)
{
	struct yq_exp up = *x;

	up.number = -1;
	return yq_each(r, c, &up, parent);
}

/* ["a", 0] as steps; NULL when it is none. */
static struct yq_exp *tree_of(struct yq_run *r, const struct yq_node *list, const struct yq_exp *x)
{
	struct yq_step *steps;

	if (list->shape != YQ_LIST) {
		yq_fail(r, "%s needs a path as a list: [\"a\", 0]", x->op->name);
		return NULL;
	}
	steps = yn_alloc(r->pool, list->count * sizeof(*steps));
	for (size_t i = 0; i < list->count; i++) {
		const struct yq_node *n = list->child[i];
		int64_t number;

		yq_must_know(r, n, YQ_BY_TYPE);
		if (n->tag != YQ_STR && (n->tag != YQ_INT || !yq_parse_int(n->text, &number, NULL)))
			yq_fail(r, "a path consists of texts and whole numbers, not of %s", yq_tag_word(n->tag));
		steps[i] = (struct yq_step){ n->text, n->len, n->tag == YQ_INT };
		if (n->tag == YQ_INT && !r->failed) {
			steps[i].text = yn_printf(r->pool, "%lld", (long long)number);
			steps[i].len = strlen(steps[i].text);
		}
	}
	return r->failed ? NULL : yq_path_tree(r, steps, list->count, 0, false);
}

static struct yq_node *only_one(struct yq_run *r, struct yq_ctx c, const struct yq_exp *x, const struct yq_exp *of)
{
	struct yq_ctx got = yq_eval(r, c, of);

	if (!r->failed && got.list->count != 1)
		yq_fail(r, "%s needs one value, not %zu", x->op->name, got.list->count);
	return r->failed ? NULL : got.list->item[0];
}

static struct yq_ctx run_set_path(struct yq_run *r, struct yq_ctx c, const struct yq_exp *x)
{
	struct yq_exp *set = yq_new_exp(r, &yq_op_assign, 0);
	const struct yq_node *list;

	if (x->right->op != &yq_op_block) {
		yq_fail(r, "setpath is written: setpath([\"a\", 0]; value)");
		return c;
	}
	list = only_one(r, yq_read_only(r, c), x, x->right->left);
	set->left = list ? tree_of(r, list, x) : NULL;
	for (size_t i = 0; i < c.list->count && !r->failed; i++) {
		struct yq_node *value = only_one(r, yq_read_one(r, c, c.list->item[i]), x, x->right->right);

		if (!value)
			break;
		set->right = yq_node_exp(r, value);
		(void)yq_eval(r, yq_over_one(r, c, c.list->item[i]), set);
	}
	return c;
}

static struct yq_ctx run_delete_paths(struct yq_run *r, struct yq_ctx c, const struct yq_exp *x)
{
	const struct yq_node *lists = only_one(r, yq_read_only(r, c), x, x->right);

	if (lists && lists->tag != YQ_TAG_LIST)
		yq_fail(r, "delpaths needs a list of paths: [[\"a\", 0]]");
	for (size_t i = 0; lists && i < lists->count && !r->failed; i++) {
		struct yq_exp *gone = yq_new_exp(r, &yq_op_delete, 0);

		if (lists->child[i]->tag != YQ_TAG_LIST)
			yq_fail(r, "delpaths needs a list of paths: [[\"a\", 0]]");
		gone->right = tree_of(r, lists->child[i], x);
		c = yq_eval(r, c, gone);
	}
	return c;
}

/* The list of keys or numbers that pick and omit are given. */
static const struct yq_node *chosen(struct yq_run *r, struct yq_ctx c, const struct yq_exp *x)
{
	struct yq_ctx got = yq_eval(r, c, x->right);
	const struct yq_node *list = yq_first_of(&got);

	if (list && list->shape == YQ_MAP)
		yq_fail(r, "%s needs a list of keys: [\"a\", \"b\"]", x->op->name);
	return list ? list : yq_collection(r, YQ_LIST);
}

static void pick_keys(struct yq_run *r, struct yq_node *out, const struct yq_node *map, const struct yq_node *list)
{
	for (size_t i = 0; i < list->count && !r->failed; i++) {
		size_t at = yq_find_key(r, map, list->child[i]);

		if (at < map->count)
			yq_add_pair(r, out, map->child[at], map->child[at + 1]);
	}
}

static struct yq_ctx run_pick(struct yq_run *r, struct yq_ctx c, const struct yq_exp *x)
{
	const struct yq_node *list = chosen(r, c, x);
	struct yq_list *all = yq_new_list(r);
	int64_t at;

	for (size_t i = 0; i < c.list->count && !r->failed; i++) {
		const struct yq_node *n = c.list->item[i];
		struct yq_node *out = yq_copy_shell(r, n);

		if (n->shape == YQ_SCALAR)
			yq_fail(r, "nothing can be picked from %s", yq_tag_word(n->tag));
		if (n->shape == YQ_MAP)
			pick_keys(r, out, n, list);
		for (size_t j = 0; n->shape == YQ_LIST && j < list->count && !r->failed; j++) {
			if (!yq_parse_int(list->child[j]->text, &at, NULL))
				yq_fail(r, "a list has no \"%.60s\", only numbers", list->child[j]->text);
			else if (at >= 0 && at < (int64_t)n->count)
				yq_add_item(r, out, n->child[at]);
		}
		yq_push(r, all, out);
	}
	return yq_over(r, c, all);
}

static bool is_chosen(struct yq_run *r, const struct yq_node *list, const struct yq_node *key)
{
	for (size_t i = 0; i < list->count && !r->failed; i++) {
		if (yq_same(r, list->child[i], key))
			return true;
	}
	return false;
}

static struct yq_ctx run_omit(struct yq_run *r, struct yq_ctx c, const struct yq_exp *x)
{
	const struct yq_node *list = chosen(r, c, x);
	struct yq_list *all = yq_new_list(r);

	if (!list->count)
		return c;
	for (size_t i = 0; i < c.list->count && !r->failed; i++) {
		const struct yq_node *n = c.list->item[i];
		struct yq_node *out = yq_copy_shell(r, n);
		size_t step = n->shape == YQ_MAP ? 2 : 1;

		if (n->shape == YQ_SCALAR)
			return c;
		for (size_t j = 0; j < n->count && !r->failed; j += step) {
			if (is_chosen(r, list, step == 2 ? n->child[j] : yq_number(r, j)))
				continue;
			yq_add_children(r, out, n->child + j, step);
		}
		yq_push(r, all, out);
	}
	return yq_over(r, c, all);
}

static struct yq_ctx run_array_to_map(struct yq_run *r, struct yq_ctx c, const struct yq_exp *x)
{
	return yq_eval(r, c, yq_parse(r, "(.[] | select(. != null)) as $i ireduce ({}; .[$i | key] = $i)", x->at));
}

const struct yq_op yq_op_path_of = { "path", 0, 52, true, 0, run_path };
const struct yq_op yq_op_parent = { "parent", 0, 50, true, 0, run_parent };
const struct yq_op yq_op_parents = { "parents", 0, 50, false, 0, run_parents };
const struct yq_op yq_op_root = { "root", 0, 50, false, 0, run_root };
const struct yq_op yq_op_set_path = { "setpath", 1, 50, false, 0, run_set_path };
const struct yq_op yq_op_delete_paths = { "delpaths", 1, 52, true, 0, run_delete_paths };
const struct yq_op yq_op_pick = { "pick", 1, 52, true, YQ_BY_TEXT, run_pick };
const struct yq_op yq_op_omit = { "omit", 1, 52, true, YQ_BY_TEXT, run_omit };
const struct yq_op yq_op_array_to_map = { "array_to_map", 0, 50, false, YQ_BY_TEXT, run_array_to_map };
