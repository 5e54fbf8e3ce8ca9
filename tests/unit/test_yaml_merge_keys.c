#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka wants these first */
#include <cmocka.h>

#include <string.h>

#include "yaml_util.h"

static const char *json_of(const struct ynode *n)
{
	auto_buf out = BUF_INIT(1 << 20);

	assert_int_equal(yn_json(n, 0, &out), 0);
	return yn_strndup(pool, out.data, out.len);
}

static void assert_merged(const char *yaml, const char *json)
{
	struct findings f = { 0 };
	struct ynode *n = yn_merge_keys(pool, tree(yaml), &f);

	assert_int_equal(f.count, 0);
	assert_string_equal(json_of(n), json);
}

static void test_own_keys_win_then_the_first_map_named(void **state)
{
	(void)state;
	assert_merged("a: &a {x: 1, y: 2}\nb: {<<: *a, y: 3, z: 4}\n",
		      "{\"a\":{\"x\":1,\"y\":2},\"b\":{\"y\":3,\"z\":4,\"x\":1}}");
	assert_merged("- &a {x: 1}\n- &b {x: 2, y: 2}\n- <<: [*a, *b]\n  z: 3\n",
		      "[{\"x\":1},{\"x\":2,\"y\":2},{\"z\":3,\"x\":1,\"y\":2}]");
	assert_merged("- &a {x: 1}\n- &b {<<: *a, y: 2}\n- {<<: *b, x: 3}\n- {<<: {p: {<<: *b}}}\n",
		      "[{\"x\":1},{\"y\":2,\"x\":1},{\"x\":3,\"y\":2},{\"p\":{\"y\":2,\"x\":1}}]");
	assert_merged("a: {<<: {}, x: 1}\nb: {<<: []}\n", "{\"a\":{\"x\":1},\"b\":{}}");
	assert_merged("plain: [1, {a: b}]\n", "{\"plain\":[1,{\"a\":\"b\"}]}");
}

static void test_in_quotes_it_is_a_key_like_any_other(void **state)
{
	const struct ynode *n = tree("a: {'<<': 1}\nb: {\"<<\": {x: 1}}\nc: {!!str <<: 1}\n");
	struct findings f = { 0 };

	(void)state;
	assert_string_equal(json_of(yn_merge_keys(pool, n, &f)), "{\"a\":{\"<<\":1},\"b\":{\"<<\":{\"x\":1}},\"c\":{\"<<\":1}}");
	assert_int_equal(f.count, 0);
	n = yn_map(pool);
	yn_set(pool, (struct ynode *)n, "<<", yn_map(pool));
	assert_string_equal(json_of(yn_merge_keys(pool, n, &f)), "{\"<<\":{}}");
}

static void test_what_is_no_map_is_named(void **state)
{
	const struct ynode *n = tree("a:\n  <<: text\n  x: 1\nb:\n  <<: [{y: 1}, 2]\n");
	struct findings f = { 0 };

	(void)state;
	assert_string_equal(json_of(yn_merge_keys(pool, n, &f)), "{\"a\":{\"x\":1},\"b\":{\"y\":1}}");
	assert_int_equal(f.errors, 2);
	assert_string_equal(f.item[0].text, "`<<` merges mappings, not text");
	assert_int_equal(f.item[0].at.line, 2);
	assert_string_equal(f.item[1].text, "`<<` merges mappings, not a whole number");
	assert_int_equal(f.item[1].at.line, 5);
	findings_fini(&f);
}

static void test_merged_values_know_where_they_were_given(void **state)
{
	const struct ynode *n = tree("a: &a\n  x: 1\nb:\n  <<: *a\n");
	struct findings f = { 0 };
	struct ynode *merged = yn_merge_keys(pool, n, &f), *x = yn_get(yn_get(merged, "b"), "x");

	(void)state;
	assert_int_equal(x->line, 2);
	assert_ptr_equal(x->origin, yn_get(yn_get(n, "a"), "x"));
	assert_ptr_equal(merged->origin, n);
}

/* What aliases repeat is counted when it is read; a tree made otherwise is counted when it is merged. */
static void test_a_bomb_of_merge_keys_is_refused(void **state)
{
	struct ynode *n = yn_map(pool), *outer;
	struct findings f = { 0 };

	(void)state;
	for (int level = 0; level < 20; level++) {
		struct ynode *both = yn_list(pool);

		outer = yn_map(pool);
		yn_add(pool, both, n);
		yn_add(pool, both, n);
		yn_put(pool, outer, tree("<<: {}")->key[0], both);
		n = outer;
	}
	assert_non_null(yn_merge_keys(pool, n, &f));
	assert_int_equal(f.errors, 1);
	assert_non_null(strstr(f.item[0].text, "merge keys make more than 50000 values"));
	findings_fini(&f);
}

static void test_keys_of_a_merged_map_are_bounded(void **state)
{
	struct ynode *n = yn_map(pool), *all = yn_list(pool);
	struct findings f = { 0 };

	(void)state;
	for (int i = 0; i < 3; i++) {
		yn_add(pool, all, yn_map(pool));
		for (int k = 0; k < 900; k++)
			yn_set(pool, all->item[i], yn_printf(pool, "k%d-%d", i, k), yn_null(pool));
	}
	yn_put(pool, n, tree("<<: {}")->key[0], all);
	assert_int_equal(yn_merge_keys(pool, n, &f)->count, 2000);
	assert_int_equal(f.errors, 1);
	assert_non_null(strstr(f.item[0].text, "more than 2000 keys"));
	findings_fini(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_own_keys_win_then_the_first_map_named),
		cmocka_unit_test(test_in_quotes_it_is_a_key_like_any_other),
		cmocka_unit_test(test_what_is_no_map_is_named),
		cmocka_unit_test(test_merged_values_know_where_they_were_given),
		cmocka_unit_test(test_a_bomb_of_merge_keys_is_refused),
		cmocka_unit_test(test_keys_of_a_merged_map_are_bounded),
	};

	return RUN_WITH_POOL(tests);
}
