/* patch_flow.c - values between brackets changed where they stand. */
#include "limactl-c/yaml/align.h"
#include "limactl-c/yaml/patcher.h"

static size_t start_of(const struct ynode *n, size_t i)
{
	return n->key ? n->key[i]->start : n->item[i]->start;
}

static size_t end_of(const struct ynode *n, size_t i)
{
	return n->key && n->key[i]->end > n->item[i]->end ? n->key[i]->end : n->item[i]->end;
}

/* New values behind the old one of index last; ALIGN_NONE: before the first. */
static void add(struct patcher *p, const struct ynode *was, const struct ynode *now, size_t i, size_t last)
{
	auto_buf text = BUF_INIT(YN_TEXT_MAX);
	struct emitter m = PATCH_EMITTER(p, &text);
	size_t at = last == ALIGN_NONE ? start_of(was, 0) : end_of(was, last);

	if (last != ALIGN_NONE)
		emit_str(&m, ", ");
	emit_flow_element(&m, now, i);
	if (last == ALIGN_NONE)
		emit_str(&m, ", ");
	patch_put(p, at, at, &text);
}

static bool patch_kept(struct patcher *p, const struct ynode *was, const struct ynode *now, size_t i, size_t j,
		       const struct spot *spot)
{
	struct spot inner = { .flow = true, .depth = spot->depth + 1 };

	inner.hook = was->key ? was->key[i]->end : was->item[i]->start;
	return patch_value(p, was->item[i], now->item[j], &inner);
}

bool patch_flow(struct patcher *p, const struct ynode *was, const struct ynode *now, const struct spot *spot)
{
	size_t *of = align(p->pool, was, now), last = ALIGN_NONE, next = 0;

	for (size_t j = 0; j < now->count; j++) {
		if (of[j] != ALIGN_NONE)
			last = of[j];
	}
	if (last == ALIGN_NONE)
		return false;
	last = ALIGN_NONE;
	for (size_t j = 0; j <= now->count; j++) {
		size_t i = j < now->count ? of[j] : was->count;

		if (i == ALIGN_NONE) {
			add(p, was, now, j, last);
			continue;
		}
		for (; next < i; next++) {
			if (last == ALIGN_NONE)
				yn_edits_add(&p->edits, start_of(was, next), start_of(was, next + 1), "", 0);
			else
				yn_edits_add(&p->edits, end_of(was, next - 1), end_of(was, next), "", 0);
		}
		if (j == now->count)
			return true;
		last = i;
		next = i + 1;
		if (!patch_kept(p, was, now, i, j, spot))
			return false;
	}
	return true;
}
