/* A text, a NUL byte, and what it shall say: another text, or "@" and changes to make. The patch is refused or says just that, and what
 * did not change keeps its lines. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "limactl-c/yaml/parse.h"
#include "limactl-c/yaml/patch.h"
#include "limactl-c/yaml/slice.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

/* The node of that number, counted in the order of the text. */
static struct ynode *pick(struct ynode *n, unsigned *number)
{
	if (!(*number)--)
		return n;
	for (size_t i = 0; i < n->count; i++) {
		struct ynode *found = pick(n->item[i], number);

		if (found)
			return found;
	}
	return NULL;
}

static void change(struct yn_pool *pool, struct ynode *root, const uint8_t op[3])
{
	static const char *const texts[] = { "x", "two words", "12", "a\nb\n", " a: b #", "" };
	unsigned to = op[1], from = op[2];
	struct ynode *n = pick(root, &to), *other = pick(root, &from);
	struct ynode *copy = other ? yn_copy(pool, other) : yn_string(pool, texts[op[2] % 6]);

	if (!n)
		return;
	switch (op[0] % 4) {
	case 0:
		if (n->count)
			yn_remove(n, op[2] % n->count);
		break;
	case 1:
		if (n->kind == YN_LIST)
			yn_insert(pool, n, op[2] % (n->count + 1), copy);
		else if (n->kind == YN_MAP)
			yn_set(pool, n, texts[op[2] % 3], copy);
		break;
	case 2:
		if (n->kind == YN_STRING)
			*n = *yn_string(pool, texts[op[2] % 6]);
		break;
	default:
		if (n != root)
			*n = *copy;
	}
}

static const struct ynode *wanted(struct yn_pool *pool, const struct ynode *was, const uint8_t *data, size_t len)
{
	struct findings f = { 0 };
	const struct ynode *now;
	struct ynode *copy;

	if (!len || *data != '@') {
		now = yn_parse(pool, "now", (const char *)data, len, &f);
		findings_fini(&f);
		return now;
	}
	copy = yn_copy(pool, was);
	for (size_t i = 1; i + 3 <= len && i < 31; i += 3)
		change(pool, copy, data + i);
	return copy;
}

static bool order_is_kept(const struct ynode *was, const struct ynode *now)
{
	size_t next = 0;

	for (size_t i = 0; i < was->count; i++) {
		size_t at = yn_find(now, was->key[i]->text, was->key[i]->len);

		if (at == now->count)
			continue;
		if (at < next)
			return false;
		next = at;
	}
	return true;
}

/* Lines of the top level whose values did not change are there as they were. */
static void lines_must_stay(const struct ynode *was, const struct ynode *now, const struct buf *out)
{
	if (was->kind != YN_MAP || now->kind != YN_MAP || was->linked || !order_is_kept(was, now))
		return;
	for (size_t i = 0; i < was->count; i++) {
		size_t at = yn_find(now, was->key[i]->text, was->key[i]->len);
		struct slice s;

		if (at == now->count || !yn_same(was->key[i], now->key[at]) || !yn_same(was->item[i], now->item[at]) ||
		    slice_is_open(was->item[i]) || !slice_entry(was->key[i], was->item[i], &s))
			continue;
		if (!memmem(out->data, out->len, s.source->text + s.head, s.to - s.head)) {
			fprintf(stderr, "`%s` lost its lines\n%s\n", was->key[i]->text, out->data);
			abort();
		}
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	const uint8_t *nul = len ? memchr(data, 0, len) : NULL;
	size_t first = nul ? (size_t)(nul - data) : 0;
	auto_buf out = BUF_INIT(64 << 20);
	auto_pool pool = yn_pool_new();
	const struct ynode *was, *now, *got;
	struct findings f = { 0 };
	struct err e;

	if (!nul || !(was = yn_parse_one(pool, "was", (const char *)data, first, &e)))
		return 0;
	now = wanted(pool, was, nul + 1, len - first - 1);
	if (!now || yn_patch(was, now, &out, &e) < 0)
		return 0;
	got = yn_parse(pool, "got", out.data ? out.data : "", out.len, &f);
	if (!got || f.errors || !yn_same(got, now))
		abort();
	if (out.data)
		lines_must_stay(was, now, &out);
	return 0;
}
