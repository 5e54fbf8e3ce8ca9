#include "limactl-c/yaml/align.h"

#include <string.h>

enum { CELLS_MAX = 250000, SAME = 3, CHANGED = 2 };

/* What both begin and end with; the parts between are left to compare. */
struct between {
	const struct ynode *was, *now;
	size_t first;    /* of both */
	size_t was_n, now_n;
	size_t *out;     /* of now's values from first on */
};

static bool same(const struct ynode *was, const struct ynode *now, size_t i, size_t j)
{
	return was->key ? yn_same(was->key[i], now->key[j]) : yn_same(was->item[i], now->item[j]);
}

static struct between trim(const struct ynode *was, const struct ynode *now, size_t *out)
{
	struct between b = { was, now, 0, was->count, now->count, NULL };

	while (b.first < was->count && b.first < now->count && same(was, now, b.first, b.first)) {
		out[b.first] = b.first;
		b.first++;
	}
	b.was_n -= b.first;
	b.now_n -= b.first;
	while (b.was_n && b.now_n && same(was, now, b.first + b.was_n - 1, b.first + b.now_n - 1)) {
		b.was_n--;
		b.now_n--;
		out[b.first + b.now_n] = b.first + b.was_n;
	}
	b.out = out + b.first;
	return b;
}

/* Keys are unique: the longest run of them that kept its order stays. */
static void align_keys(struct yn_pool *p, const struct between *b)
{
	size_t *at = yn_alloc(p, b->now_n * sizeof(*at)), *length = yn_alloc(p, b->now_n * sizeof(*at));
	size_t *before = yn_alloc(p, b->now_n * sizeof(*at)), best = ALIGN_NONE;

	for (size_t j = 0; j < b->now_n; j++) {
		const struct ynode *key = b->now->key[b->first + j];

		at[j] = yn_find(b->was, key->text, key->len);
		before[j] = ALIGN_NONE;
		if (at[j] == b->was->count || !yn_same(b->was->key[at[j]], key))
			continue;
		length[j] = 1;
		for (size_t i = 0; i < j; i++) {
			if (length[i] && at[i] < at[j] && length[i] + 1 > length[j]) {
				length[j] = length[i] + 1;
				before[j] = i;
			}
		}
		if (best == ALIGN_NONE || length[j] > length[best])
			best = j;
	}
	for (; best != ALIGN_NONE; best = before[best])
		b->out[best] = at[best];
}

/* How much two items are one: unchanged, or a copy that was changed. */
static unsigned likeness(const struct ynode *was, const struct ynode *now)
{
	if (yn_same(was, now))
		return SAME;
	return now->origin == was ? CHANGED : 0;
}

/* The longest common subsequence, by likeness. */
static void align_items(struct yn_pool *p, const struct between *b)
{
	size_t width = b->now_n + 1, i, j;
	uint32_t *score = yn_alloc(p, (b->was_n + 1) * width * sizeof(*score));
	uint8_t *like = yn_alloc(p, (b->was_n + 1) * width);

	for (i = b->was_n; i--;) {
		for (j = b->now_n; j--;) {
			uint32_t skip_was = score[(i + 1) * width + j], skip_now = score[i * width + j + 1], both;

			like[i * width + j] = (uint8_t)likeness(b->was->item[b->first + i], b->now->item[b->first + j]);
			both = score[(i + 1) * width + j + 1] + like[i * width + j];
			score[i * width + j] = skip_was > skip_now ? skip_was : skip_now;
			if (like[i * width + j] && both > score[i * width + j])
				score[i * width + j] = both;
		}
	}
	for (i = j = 0; i < b->was_n && j < b->now_n;) {
		uint32_t here = score[i * width + j];

		if (like[i * width + j] && here == score[(i + 1) * width + j + 1] + like[i * width + j])
			b->out[j++] = b->first + i++;
		else if (here == score[(i + 1) * width + j])
			i++;
		else
			j++;
	}
}

/* As many old items as new ones between two that stay: each is changed in its place. */
static void pair_runs(const struct between *b)
{
	size_t i = 0, j = 0;

	while (j < b->now_n) {
		size_t end = j, next;

		while (end < b->now_n && b->out[end] == ALIGN_NONE)
			end++;
		next = end < b->now_n ? b->out[end] - b->first : b->was_n;
		for (size_t k = 0; next - i == end - j && j + k < end; k++) {
			const struct ynode *was = b->was->item[b->first + i + k], *now = b->now->item[b->first + j + k];

			if (was->kind == now->kind || (yn_is_scalar(was) && yn_is_scalar(now)))
				b->out[j + k] = b->first + i + k;
		}
		i = next + 1;
		j = end + 1;
	}
}

size_t *align(struct yn_pool *p, const struct ynode *was, const struct ynode *now)
{
	size_t *out = yn_alloc(p, now->count * sizeof(*out));
	struct between b;

	memset(out, 0xff, now->count * sizeof(*out));
	b = trim(was, now, out);
	if (was->kind == YN_MAP) {
		align_keys(p, &b);
		return out;
	}
	if (b.was_n && b.now_n && b.was_n <= CELLS_MAX / b.now_n)
		align_items(p, &b);
	pair_runs(&b);
	return out;
}
