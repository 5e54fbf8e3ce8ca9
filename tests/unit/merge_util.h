/* merge_util.h - trees of small texts, compared without regard to the order of keys. */
#ifndef TESTS_MERGE_UTIL_H
#define TESTS_MERGE_UTIL_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka wants these first */
#include <cmocka.h>

#include <string.h>

#include "limactl-c/yaml/parse.h"

static struct yn_pool *pool;

static inline int pool_make(void **state)
{
	(void)state;
	pool = yn_pool_new();
	return 0;
}

static inline int pool_drop(void **state)
{
	(void)state;
	yn_pool_free(pool);
	return 0;
}

/* A tree to change; NULL for NULL. */
static inline struct ynode *tree(const char *file, const char *text)
{
	struct err e = { 0 };
	const struct ynode *n = text ? yn_parse_one(pool, file, text, strlen(text), &e) : NULL;

	if (text && !n)
		fail_msg("%s: %s", text, e.msg);
	return n ? yn_copy(pool, n) : NULL;
}

static inline void unlike(const char *row, const char *path, const struct ynode *n, const struct ynode *wanted)
{
	fail_msg("%s: %s is %s \"%s\" (%zu inside), wanted %s \"%s\" (%zu inside)", row, *path ? path : "the whole",
		 n ? yn_kind_word(n->kind) : "missing", n && n->text ? n->text : "", n ? n->count : 0,
		 yn_kind_word(wanted->kind), wanted->text ? wanted->text : "", wanted->count);
}

static inline void assert_alike(const char *row, const char *path, const struct ynode *n, const struct ynode *wanted)
{
	bool alike = n && n->kind == wanted->kind && n->count == wanted->count;

	if (alike && n->kind != YN_NULL)
		alike = n->len == wanted->len && (!n->len || !memcmp(n->text, wanted->text, n->len));
	if (!alike)
		unlike(row, path, n, wanted);
	for (size_t i = 0; i < wanted->count; i++) {
		const char *key = wanted->key ? wanted->key[i]->text : NULL;
		char *sub = key ? yn_printf(pool, "%s.%s", path, key) : yn_printf(pool, "%s[%zu]", path, i);

		assert_alike(row, sub, key ? yn_get(n, key) : n->item[i], wanted->item[i]);
	}
}

#endif
