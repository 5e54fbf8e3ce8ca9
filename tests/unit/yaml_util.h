/* yaml_util.h - what the tests of trees and their texts share: one pool, texts that must be right. */
#ifndef TEST_YAML_UTIL_H
#define TEST_YAML_UTIL_H

#include <stdio.h>

#include "limactl-c/base/mem.h"
#include "limactl-c/yaml/emit.h"
#include "limactl-c/yaml/parse.h"

static struct yn_pool *pool;

/* The tree of a text that is right. */
static inline const struct ynode *tree_of(const char *text, size_t len)
{
	struct findings f = { 0 };
	const struct ynode *root = yn_parse(pool, "f.yaml", text, len, &f);

	if (f.count)
		fail_msg("%s: %s", text, f.item[0].text);
	assert_non_null(root);
	return root;
}

static inline const struct ynode *tree(const char *text)
{
	return tree_of(text, strlen(text));
}

/* The text of the tree, which must say the same as the tree. */
static inline const char *emitted(const struct ynode *n)
{
	auto_buf out = BUF_INIT(1 << 20);
	const char *text;

	assert_int_equal(yn_emit(n, &out), 0);
	text = yn_strndup(pool, out.data, out.len);
	if (!yn_same(tree(text), n))
		fail_msg("reads otherwise: %s", text);
	return text;
}

static inline void assert_emits(const struct ynode *n, const char *text)
{
	assert_string_equal(emitted(n), text);
}

#define RUN_WITH_POOL(tests)                                  \
	__extension__({                                       \
		int rc_;                                      \
		pool = yn_pool_new();                         \
		rc_ = cmocka_run_group_tests(tests, NULL, NULL); \
		yn_pool_free(pool);                           \
		rc_;                                          \
	})

#endif
