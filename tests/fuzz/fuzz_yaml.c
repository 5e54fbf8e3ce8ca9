/* Any text: bounded work; what is read and written again is the same, with its own lines and without; JSON of it is read. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "limactl-c/yaml/emit.h"
#include "limactl-c/yaml/parse.h"
#include "limactl-c/yaml/patch.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

/* The tree as if it had been made here. */
static void forget(struct ynode *n)
{
	n->source = NULL;
	n->origin = NULL;
	for (size_t i = 0; i < n->count; i++) {
		if (n->key)
			forget(n->key[i]);
		forget(n->item[i]);
	}
}

static const struct ynode *read_again(struct yn_pool *pool, const struct buf *out)
{
	struct findings f = { 0 };
	const struct ynode *again = yn_parse(pool, "again", out->data, out->len, &f);

	if (!again || f.errors) {
		fprintf(stderr, "%s\n%s\n", out->data, f.item[0].text);
		abort();
	}
	return again;
}

static void must_say(struct yn_pool *pool, const struct ynode *root)
{
	auto_buf out = BUF_INIT(64 << 20);

	if (yn_emit(root, &out) < 0)
		abort();
	if (!yn_same(read_again(pool, &out), root)) {
		fprintf(stderr, "%s\n", out.data);
		abort();
	}
}

/* An item of another document, with its own lines. */
static void must_be_taken_over(struct yn_pool *pool, struct ynode *root)
{
	auto_buf out = BUF_INIT(64 << 20);
	struct findings f = { 0 };
	const struct ynode *was = yn_parse(pool, "other", "[]\n", 3, &f);
	struct ynode *now = yn_list(pool);
	struct err e;

	if (root->height == YN_DEPTH_MAX || root->weight >= YN_NODES_MAX)
		return;
	yn_add(pool, now, root);
	if (yn_patch(was, now, &out, &e) < 0) {
		fprintf(stderr, "%s\n", e.msg);
		abort();
	}
	if (!yn_same(read_again(pool, &out), now)) {
		fprintf(stderr, "%s\n", out.data);
		abort();
	}
}

static void must_be_json(struct yn_pool *pool, const struct ynode *root, unsigned indent)
{
	auto_buf out = BUF_INIT(64 << 20);

	if (yn_json(root, indent, &out) < 0)
		abort();
	read_again(pool, &out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	auto_pool pool = yn_pool_new();
	struct findings f = { 0 };
	const struct ynode *root = yn_parse(pool, "fuzz", (const char *)data, len, &f);

	findings_fini(&f);
	if (!root)
		return 0;
	struct ynode *copy = yn_copy(pool, root);

	/* A key of two values stays once. */
	must_say(pool, copy);
	must_be_taken_over(pool, copy);
	must_be_json(pool, copy, 0);
	must_be_json(pool, copy, 2);
	yn_merge_keys(pool, copy, &f);
	findings_fini(&f);
	if (copy->kind == YN_MAP)
		yn_set(pool, copy, "new key", yn_int(pool, 1));
	must_say(pool, copy);
	forget(copy);
	must_say(pool, copy);
	return 0;
}
