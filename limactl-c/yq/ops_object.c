/* { } : each pair makes a list of maps for each input; the maps of all pairs are merged, each with each. */
#include "limactl-c/yq/eval.h"

static struct yq_node *one_pair(struct yq_run *r, struct yq_ctx c, struct yq_node *a, struct yq_node *b, unsigned flags)
{
	struct yq_node *map = yq_collection(r, YQ_MAP);

	(void)c;
	(void)flags;
	yq_add_pair(r, map, a, b);
	return map;
}

static struct yq_node *pairs_of(struct yq_run *r, struct yq_ctx c, const struct yq_exp *x)
{
	static const struct yq_cross how = { .pair = one_pair };
	struct yq_node *n = yq_gather(r, yq_cross(r, c, x, &how).list);

	n->style = YN_FLOW;
	return n;
}

static struct yq_ctx run_pair(struct yq_run *r, struct yq_ctx c, const struct yq_exp *x)
{
	struct yq_node *out = yq_collection(r, YQ_LIST);

	if (!c.list->count)
		yq_add_item(r, out, pairs_of(r, yq_over(r, c, yq_new_list(r)), x));
	for (size_t i = 0; i < c.list->count && !r->failed; i++)
		yq_add_item(r, out, pairs_of(r, yq_over_one(r, c, c.list->item[i]), x));
	return yq_over_one(r, c, out);
}

static bool is_pairs(const struct yq_node *n)
{
	bool ok = n->shape == YQ_LIST;

	for (size_t i = 0; ok && i < n->count; i++) {
		const struct yq_node *maps = n->child[i];

		ok = maps->shape == YQ_LIST;
		for (size_t j = 0; ok && j < maps->count; j++)
			ok = maps->child[j]->shape == YQ_MAP;
	}
	return ok;
}

/* The maps that the input-th input makes of all the pairs. */
static struct yq_list *merged(struct yq_run *r, struct yq_ctx c, size_t input)
{
	struct yq_list *sum = yq_new_list(r);

	for (size_t i = 0; i < c.list->count && !r->failed; i++) {
		const struct yq_node *maps = c.list->item[i]->child[input];
		struct yq_list *next = yq_new_list(r);

		for (size_t j = 0; !sum->count && j < maps->count; j++)
			yq_push(r, next, maps->child[j]);
		for (size_t j = 0; j < sum->count && !r->failed; j++) {
			for (size_t k = 0; k < maps->count && !r->failed; k++)
				yq_push(r, next, yq_multiply_pair(r, c, yq_copy(r, sum->item[j]), maps->child[k], 0));
		}
		sum = next;
	}
	return sum;
}

static struct yq_ctx run_object(struct yq_run *r, struct yq_ctx c, const struct yq_exp *x)
{
	struct yq_list *out = yq_new_list(r);
	struct yq_node *n;

	(void)x;
	c = yq_writable(r, c);
	if (!c.list->count) {
		n = yq_collection(r, YQ_MAP);
		n->text = "{}";
		n->len = 2;
		return yq_over_one(r, c, n);
	}
	for (size_t i = 0; i < c.list->count; i++) {
		if (!is_pairs(c.list->item[i]) || c.list->item[i]->count < c.list->item[0]->count)
			yq_fail(r, "{ } needs pairs: {\"key\": value}");
	}
	for (size_t i = 0; !r->failed && i < c.list->item[0]->count; i++) {
		const struct yq_list *maps = merged(r, c, i);

		for (size_t j = 0; j < maps->count && !r->failed; j++) {
			n = yq_copy(r, maps->item[j]);
			n->parent = n->key = NULL;
			n->has_index = false;
			yq_push(r, out, n);
		}
	}
	return yq_over(r, c, out);
}

const struct yq_op yq_op_pair = { ":", 2, 15, false, 0, run_pair };
const struct yq_op yq_op_object = { "{ }", 0, 50, false, 0, run_object };
