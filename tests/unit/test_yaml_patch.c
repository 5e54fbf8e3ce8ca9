#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka wants these first */
#include <cmocka.h>

#include <string.h>

#include "limactl-c/yaml/patch.h"
#include "yaml_util.h"

static void assert_patched(const struct ynode *was, const struct ynode *now, const char *after)
{
	auto_buf out = BUF_INIT(1 << 20);
	struct err e;

	if (yn_patch(was, now, &out, &e) < 0)
		fail_msg("%s\n%s", was->source->text, e.msg);
	assert_string_equal(out.data ? out.data : "", after);
	assert_true(yn_same(tree(out.data ? out.data : ""), now));
}

struct row {
	const char *was, *now, *after;
};

static void assert_rows(const struct row *rows, size_t n)
{
	for (size_t i = 0; i < n; i++)
		assert_patched(tree(rows[i].was), tree(rows[i].now), rows[i].after);
}
#define ROWS(rows) assert_rows(rows, sizeof(rows) / sizeof(*(rows)))

static void test_scalars_are_changed_in_place(void **state)
{
	static const struct row rows[] = {
		{ "a: 1 # one\n", "a: 2", "a: 2 # one\n" },
		{ "a:   1\nb: 2\n", "{a: xyz, b: 2}", "a:   xyz\nb: 2\n" },
		{ "a: \"x\"\n", "a: y", "a: \"y\"\n" },
		{ "a: 'x' # c\n", "a: it's", "a: 'it''s' # c\n" },
		{ "a: x", "a: z", "a: z" },
		{ "a:\nb: 1\n", "{a: x, b: 1}", "a: x\nb: 1\n" },
		{ "a: # c\nb: 1\n", "{a: x, b: 1}", "a: x # c\nb: 1\n" },
		{ "a: x # c\n", "a:", "a: null # c\n" },
		{ "a: ~\n", "a: null", "a: ~\n" },
		{ "a: x # c\nb: 1\n", "{a: \"x\\ny\\n\", b: 1}", "a: \"x\\ny\\n\" # c\nb: 1\n" },
		{ "a: x # c\nb: 1\n", "a: |\n  x\n  y\nb: 1", "a: | # c\n  x\n  y\nb: 1\n" },
		{ "a: |\n  x\n  y\n\nb: 1\n", "{a: z, b: 1}", "a: z\n\nb: 1\n" },
		{ "a: |+\n  x\n\nb: 1\n", "{a: z, b: 1}", "a: z\nb: 1\n" },
		{ "a: >-\n  x\n  y\n# c\nb: 1\n", "a: |\n  z\n  w\nb: 1", "a: |\n  z\n  w\n# c\nb: 1\n" },
		{ "a: one\n  two\nb: 1\n", "{a: x, b: 1}", "a: x\nb: 1\n" },
		{ "a:\n  one\nb: 1\n", "{a: x, b: 1}", "a: x\nb: 1\n" },
		{ "- 1\n-\n- 3 # c\n", "[x, w, z]", "- x\n- w\n- z # c\n" },
		{ "a: !!str 12\n", "a: 13", "a: 13\n" },
		{ "a: \xe2\x82\xac\xe2\x82\xac # \xe2\x82\xac\nb: 1\n", "{a: \xf0\x9f\x9f\xa2, b: 2}",
		  "a: \xf0\x9f\x9f\xa2 # \xe2\x82\xac\nb: 2\n" },
		{ "a: b\n", "a: 'yes'", "a: 'yes'\n" },
		{ "text\n", "'12'", "'12'\n" },
		{ "a: x", "a: |\n  x\n  y\n", "a: |\n  x\n  y\n" },
		{ "a:\t1\t# c\n", "a: 2", "a: 2\t# c\n" },
	};

	(void)state;
	ROWS(rows);
}

static void test_keys_come_and_go_with_their_lines(void **state)
{
	static const struct row rows[] = {
		{ "a: 1\nb: 2\n", "{a: 1, b: 2, c: 3}", "a: 1\nb: 2\nc: 3\n" },
		{ "a: 1", "{a: 1, b: 2}", "a: 1\nb: 2" },
		{ "a: 1\n\n# the end\n\n", "{a: 1, b: 2}", "a: 1\n\n# the end\nb: 2\n\n" },
		{ "---\na: 1\n...\n# x\n", "{a: 1, b: 2}", "---\na: 1\nb: 2\n...\n# x\n" },
		{ "a:\n    b: 1\n\n# c\nc: 2\n", "{a: {b: 1, d: 3}, c: 2}", "a:\n    b: 1\n    d: 3\n\n# c\nc: 2\n" },
		{ "# top\n\n# one\na: 1\n# two\nb: 2 # 2\n# three\nc: 3\n", "{a: 1, c: 3}",
		  "# top\n\n# one\na: 1\n# three\nc: 3\n" },
		{ "# top\na: 1\nb: 2\n", "{b: 2}", "# top\nb: 2\n" },
		{ "# top\n\n# one\na: 1\nb: 2\n", "{b: 2}", "# top\n\nb: 2\n" },
		{ "a: 1\n\n# two\nb: 2\n\nc: 3\n", "{a: 1, c: 3}", "a: 1\n\nc: 3\n" },
		{ "a: 1\n\nb: 2\n", "{a: 1}", "a: 1\n" },
		{ "a: 1\n\nb:\n  c: |\n    x\n\n\nd: 4\n", "{a: 1, d: 4}", "a: 1\n\nd: 4\n" },
		{ "a: 1 # c\n", "{}", "{}\n" },
		{ "# top\n\na: 1\n", "{}", "# top\n\n{}\n" },
		{ "a: 1\nb: 2\n", "{c: 1, d: 2}", "c: 1\nd: 2\n" },
		{ "a: 1\nb: 2 # b\nc: 3\n", "{x: 0, b: 2, z: 1, c: 3}", "x: 0\nb: 2 # b\nz: 1\nc: 3\n" },
		{ "a:\n  b:\n    c: 1\nd: 1\n", "{a: {b: {c: 1, x: {w: [z]}}}, d: 1}",
		  "a:\n  b:\n    c: 1\n    x: {w: [z]}\nd: 1\n" },
		{ "a: |\n  x", "{a: x, b: 1}", "a: |-\n  x\nb: 1" },
		{ "a: |+2\n   x", "{a: \" x\", b: 1}", "a: |-2\n   x\nb: 1" },
		{ "a: |\n  x\n", "{a: \"x\\n\", b: 1}", "a: |\n  x\nb: 1\n" },
		{ "a: |+\n  x\n\n", "{a: \"x\\n\\n\", b: 1}", "a: |+\n  x\n\nb: 1\n" },
		{ "  a: 1\n  b: 2\n", "{b: 2, c: 3}", "  b: 2\n  c: 3\n" },
		{ "a: 1\nb: 2\nc: 3\n", "{a: 1, c: 3, b: 2}", "a: 1\nc: 3\nb: 2\n" },
	};

	(void)state;
	ROWS(rows);
}

static void test_a_text_without_values_gets_some(void **state)
{
	static const struct row rows[] = {
		{ "", "a: 1", "a: 1\n" },
		{ "\n\n", "a: 1", "a: 1\n\n\n" },
		{ "# c\n", "a: 1", "# c\na: 1\n" },
		{ "# c", "a: 1", "# c\na: 1" },
		{ "# c\n\n# d\n\n", "a: 1", "# c\n\n# d\na: 1\n\n" },
		{ "---\n", "a: 1", "---\na: 1\n" },
		{ "# c\n---\n...\n", "a: 1", "# c\n---\na: 1\n...\n" },
		{ "%YAML 1.1\n---\n", "a: 1", "%YAML 1.1\n---\na: 1\n" },
		{ "\xef\xbb\xbf", "a: 1", "\xef\xbb\xbf" "a: 1\n" },
		{ "\xef\xbb\xbf# c\r\n", "a: 1", "\xef\xbb\xbf# c\r\na: 1\r\n" },
		{ "{}\n", "a: [1]", "a: [1]\n" },
		{ "null # c\n", "a: 1", "a: 1 # c\n" },
		{ "# c\n--- ~\n", "a: 1", "# c\n--- \na: 1\n" },
		{ "# c\n", "{}", "# c\n" },
	};

	(void)state;
	ROWS(rows);
}

static void test_items_keep_their_places_and_comments(void **state)
{
	static const struct row rows[] = {
		{ "m:\n# one\n- a: 1 # x\n# two\n- a: 2\n", "m: [{a: 0}, {a: 1}, {a: 2}]",
		  "m:\n- {a: 0}\n# one\n- a: 1 # x\n# two\n- a: 2\n" },
		{ "m:\n  - 1 # x\n  # two\n  - 2\n  - 3\n", "m: [1, 3, 4]", "m:\n  - 1 # x\n  - 3\n  - 4\n" },
		{ "m:\n- a: 1\n  b: 2\n- a: 3\n", "m: [{b: 2}, {a: 3}]", "m:\n- b: 2\n- a: 3\n" },
		{ "m:\n- a: 1\n  # bee\n  b: 2\n- a: 3\n", "m:\n- b: 2\n- a: 3", "m:\n# bee\n- b: 2\n- a: 3\n" },
		{ "m:\n- a: 1\n  b: 2\n", "m: [{x: 0, a: 1, b: 3, c: 4}]", "m:\n- x: 0\n  a: 1\n  b: 3\n  c: 4\n" },
		{ "m:\n- a: 1\n  b: 2\n  c: 3\n", "m: [{c: 3}]", "m:\n- c: 3\n" },
		{ "m:\n-\n  # c\n  a: 1\n- # d\n  b: 2\n", "m: [{a: 2}, {b: 3}]", "m:\n-\n  # c\n  a: 2\n- # d\n  b: 3\n" },
		{ "m:\n- - 1\n  - 2\n- 3\n", "m: [[2, 4], 3]", "m:\n- - 2\n  - 4\n- 3\n" },
		{ "m:\n- 1\n- 2\n# end\nn: 1\n", "{m: [1], n: 1}", "m:\n- 1\n# end\nn: 1\n" },
		{ "m:\n- a: 1\n  b: 2 # c\nn: 1\n", "{m: [x], n: 1}", "m:\n- x\nn: 1\n" },
		{ "- a\n# c\n- b\n# end\n", "[a, b, c]", "- a\n# c\n- b\n# end\n- c\n" },
		{ "- a # c\n- b\n", "- {x: 1}\n- b", "- {x: 1}\n- b\n" },
		{ "- a # c\n- b\n", "-\n  x: 1\n  z: 2\n- b", "-\n  x: 1\n  z: 2\n- b\n" },
	};

	(void)state;
	ROWS(rows);
}

static void test_collections_open_and_close(void **state)
{
	static const struct row rows[] = {
		{ "m: # c\n- 1\n- 2 # d\nn: 1\n", "{m: [], n: 1}", "m: [] # c\nn: 1\n" },
		{ "m:\n# a\n- 1\n\n# n\nn: 1\n", "{m: , n: 1}", "m: null\n\n# n\nn: 1\n" },
		{ "m:\n  a: 1\nn: 1\n", "{m: x, n: 1}", "m: x\nn: 1\n" },
		{ "m: # c\n  a: 1\nn: 1\n", "m:\n- 1\n- 2\nn: 1", "m: # c\n- 1\n- 2\nn: 1\n" },
		{ "m: [] # c\nn: 1\n", "m:\n- a: 1\n- b\nn: 1", "m: # c\n- a: 1\n- b\nn: 1\n" },
		{ "m:\nn: 1\n", "m:\n- a\nn: 1", "m:\n- a\nn: 1\n" },
		{ "m: null # c\nn: 1\n", "m:\n  a: b\nn: 1", "m: # c\n  a: b\nn: 1\n" },
		{ "m: !!seq\n- 1\nn: 1\n", "{m: x, n: 1}", "m: x\nn: 1\n" },
		{ "- []\n", "-\n  - 1\n", "- - 1\n" },
		{ "a: 1\n", "- a\n- b\n", "- a\n- b\n" },
		{ "- a\n# c\n- b\n", "a: 1\n", "a: 1\n" },
	};

	(void)state;
	ROWS(rows);
}

static void test_what_stands_between_brackets_stays_there(void **state)
{
	static const struct row rows[] = {
		{ "a: [x,y]  # c\n", "a: [x, y, z]", "a: [x,y, z]  # c\n" },
		{ "a: [x, y]\n", "a: [w, x, y]", "a: [w, x, y]\n" },
		{ "a: [x, y, z]\n", "a: [y]", "a: [y]\n" },
		{ "a: [x, y, z]\n", "a: [x, z]", "a: [x, z]\n" },
		{ "a: [x, y]\n", "a: [p, q, r]", "a: [p, q, r]\n" },
		{ "a: [x]\n", "a: []", "a: []\n" },
		{ "{a: 1, b: [x], c}\n", "{a: 2, b: [x, z], c: 1, d: {e: f}}", "{a: 2, b: [x, z], c: 1, d: {e: f}}\n" },
		{ "{\n  \"a\": 1,\n  \"b\": 2\n}\n", "{a: 1, b: 3, c: x}", "{\n  \"a\": 1,\n  \"b\": 3, c: x\n}\n" },
		{ "a: [\n  x, # ex\n  y, # why\n]\n", "a: [x, z]", "a: [\n  x, # ex\n  z, # why\n]\n" },
		{ "a: {b: , c: ''}\n", "a: {b: x, c: y}", "a: {b: x, c: 'y'}\n" },
		{ "a: [{}, []]\n", "a: [{b: 1}, [\"x\\ny\"]]", "a: [{b: 1}, [\"x\\ny\"]]\n" },
		{ "{a: {b: 1}}\n", "{a: {b: 1}, m: {x: z, k: [1]}}", "{a: {b: 1}, m: {x: z, k: [1]}}\n" },
	};

	(void)state;
	ROWS(rows);
}

static void test_line_ends_and_the_byte_order_mark_stay(void **state)
{
	static const struct row rows[] = {
		{ "a: 1\r\nb: |\r\n  x\r\nc: 3\r\n", "a: 2\nb: |\n  y\n  z\nc: 3\nd:\n- 1\n",
		  "a: 2\r\nb: |\r\n  y\r\n  z\r\nc: 3\r\nd:\r\n- 1\r\n" },
		{ "# c\r\na: 1 # d\r\n\r\nb: 2\r\n", "{b: 2}", "# c\r\n\r\nb: 2\r\n" },
		{ "a: 1\r\nm: [] # c\r\n", "m:\n- x\n- y\n", "m: # c\r\n- x\r\n- y\r\n" },
		{ "\xef\xbb\xbf" "a: 1\n", "{b: 0, a: 2}", "\xef\xbb\xbf" "b: 0\na: 2\n" },
		{ "\xef\xbb\xbf" "a: 1\nb: 2\n", "{b: 2}", "\xef\xbb\xbf" "b: 2\n" },
	};

	(void)state;
	ROWS(rows);
}

static void test_anchors_and_aliases_are_written_out_when_they_must(void **state)
{
	static const struct row rows[] = {
		{ "a: &x 1\nb: *x\nc: 3\n", "{a: 1, b: 1, c: 4}", "a: &x 1\nb: *x\nc: 4\n" },
		{ "a: &x 1\nb: *x # c\n", "{a: 1, b: 2}", "a: &x 1\nb: 2 # c\n" },
		{ "a: &x 1\nb: *x\n", "{a: 2, b: 1}", "a: 2\nb: 1\n" },
		{ "a: &x\n  k: 1\nb: *x\n", "{a: {k: 2}, b: {k: 1}}", "a: &x\n  k: 2\nb: {k: 1}\n" },
		{ "a: &x\n  k: 1\nb: *x\n", "{a: {k: 1}, b: {k: 1, l: 2}}", "a: &x\n  k: 1\nb: {k: 1, l: 2}\n" },
		{ "a: &x\n  k: 1\nb: *x\n", "{b: {k: 1}}", "b: {k: 1}\n" },
		{ "a: &x\n  k: 1\nb: *x\n", "{a: {k: 2}, b: {k: 2}}", "a: &x\n  k: 2\nb: {k: 2}\n" },
	};

	(void)state;
	ROWS(rows);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_scalars_are_changed_in_place),
		cmocka_unit_test(test_keys_come_and_go_with_their_lines),
		cmocka_unit_test(test_a_text_without_values_gets_some),
		cmocka_unit_test(test_items_keep_their_places_and_comments),
		cmocka_unit_test(test_collections_open_and_close),
		cmocka_unit_test(test_what_stands_between_brackets_stays_there),
		cmocka_unit_test(test_line_ends_and_the_byte_order_mark_stay),
		cmocka_unit_test(test_anchors_and_aliases_are_written_out_when_they_must),
	};

	return RUN_WITH_POOL(tests);
}
