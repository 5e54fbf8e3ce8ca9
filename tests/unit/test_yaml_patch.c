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
		{ "a: x\n    \n \nb: 1\n", "{a: w, b: 2}", "a: w\n    \n \nb: 2\n" },
		{ "a: x\n    \n \nb: 1\n", "a: |\n  x\n  y\nb: 1", "a: |\n  x\n  y\n\n\nb: 1\n" },
		{ "a: x\n\n\nb: 1\n", "a: |+\n  x\n  y\n\nb: 1", "a: |+\n  x\n  y\n\nb: 1\n" },
		{ "a: |\n  x\n\n# c\nb: 1\n", "a: |+\n  x\n  y\n\nb: 1", "a: |+\n  x\n  y\n\n# c\nb: 1\n" },
		{ "b: 1\n# c\n    ", "b: 1\na: |\n  x\n  y\n", "b: 1\n# c\na: |\n  x\n  y\n" },
		{ "a: |\n    x\n  # c\nb: 1\n", "a: |\n  y\n  z\nb: 1", "a: \"y\\nz\\n\"\n  # c\nb: 1\n" },
		{ "a: |+\n  x\n\nb: 1\n\n\nc: 2\n", "a: |+\n  x\n\nc: 2", "a: |+\n  x\n\nc: 2\n" },
		{ "b: 1\r\n  \r\n", "b: 1\na: |\n  x\n  y\n", "b: 1\r\na: |\r\n  x\r\n  y\r\n  \r\n" },
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
		{ "a: >", "{a: '', b: 1, c: 2}", "a: >-\nb: 1\nc: 2" },
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

static struct ynode *copy_of(const char *text)
{
	return yn_copy(pool, tree(text));
}

/* A text that an unchanged tree leaves as it stands. */
static void assert_stays(const char *text)
{
	struct ynode *n = copy_of(text);

	assert_patched(n->origin, n, text);
}

static void test_an_unchanged_document_keeps_its_text(void **state)
{
	(void)state;
	assert_stays("# head\n\na:   1   # c\n\n\nb: [x,  y]\nc: &x {k: 'v'}\nd: *x\n# end\n");
	assert_stays("---\n- 'a'\n-   >\n  folded\n  text\n...\n");
	assert_stays("a: 1\n\n\n");
	assert_stays("a: |+\n  x\n\n");
	assert_stays("\xef\xbb\xbf# c\r\na: 1\r\n");
	assert_stays("a: 1");
	assert_stays("");
	assert_stays("\xef\xbb\xbf\n");
	assert_stays("# c");
}

/* The text's values put behind those of another document. */
static void assert_taken_over(const char *text, const char *after)
{
	const struct ynode *from = tree(text), *was = tree("new: 1\n");
	struct ynode *n = yn_copy(pool, was);

	for (size_t i = 0; i < from->count; i++)
		yn_put(pool, n, yn_copy(pool, from->key[i]), yn_copy(pool, from->item[i]));
	assert_patched(was, n, after);
}

static void test_unchanged_values_keep_their_lines_and_comments(void **state)
{
	(void)state;
	assert_taken_over("# head\na: 0x1F # hex\n\n# above\n# b\nb: \"x\\u00e9\"\nc: >-\n  one\n  two\n\n"
			  "d: {x: 1,\n  y: 2} # flow\ne: plain\n  goes on # here\nf:\n    # in\n    g:\n"
			  "        - 1\n  # less\n\n        -   2\n",
			  "new: 1\na: 0x1F # hex\n# above\n# b\nb: \"x\\u00e9\"\nc: >-\n  one\n  two\n"
			  "d: {x: 1,\n  y: 2} # flow\ne: plain\n  goes on # here\nf:\n    # in\n    g:\n"
			  "        - 1\n  # less\n\n        -   2\n");
	/* a block scalar that ends with the text; aliases; what stands between brackets */
	assert_taken_over("a: |\n  x", "new: 1\na: |-\n  x\n");
	assert_taken_over("a: &x # c\n  k: 1\nb: *x\n", "new: 1\na:\n  k: 1\nb:\n  k: 1\n");
	assert_taken_over("{a: 1,\n# c\nb: [x]}", "new: 1\na: 1\n# c\nb: [x]\n");
	assert_taken_over("? a\n: 1\n? b\n", "new: 1\na: 1\nb: null\n");
}

static void test_lines_move_to_another_indentation(void **state)
{
	const struct ynode *was = tree("l:\n    # one\n    - a: |2 # t\n         x\n\n        y\n      b: \"q\n        r\"\n"
				       "  # less\n    -\n      # in\n      c: 1\n    - - d # d\n      - e\n");
	struct ynode *n = yn_list(pool), *outer = yn_map(pool);

	(void)state;
	for (size_t i = 3; i--;)
		yn_add(pool, n, yn_copy(pool, was->item[0]->item[i]));
	assert_patched(tree("[]\n"), n,
		       "- - d # d\n  - e\n-\n  # in\n  c: 1\n# one\n- a: |2 # t\n     x\n\n    y\n  b: \"q\n    r\"\n");
	yn_set(pool, outer, "a", yn_map(pool));
	yn_set(pool, yn_get(outer, "a"), "b", n);
	yn_set(pool, n->item[2], "a", yn_string(pool, "new"));
	yn_set(pool, n->item[1], "z", yn_null(pool));
	assert_patched(tree("a: {}\n"), outer,
		       "a:\n  b:\n  - - d # d\n    - e\n  # in\n  - c: 1\n    z: null\n  # one\n  - a: new\n"
		       "    b: \"q\n      r\"\n");
}

static void test_changed_copies_keep_what_they_were_copied_with(void **state)
{
	static const char was[] = "# top\n\n# ems\nm: # here\n# one\n- a: 1 # x\n  # bee\n  b: 'q'\n# two\n- a: 2\n";
	struct ynode *n = copy_of(was), *m = yn_get(n, "m");

	(void)state;
	/* one in front of the others, one changed */
	yn_insert(pool, m, 0, yn_map(pool));
	yn_set(pool, m->item[0], "a", yn_int(pool, 0));
	yn_set(pool, m->item[2], "a", yn_int(pool, 3));
	assert_patched(n->origin, n,
		       "# top\n\n# ems\nm: # here\n- a: 0\n# one\n- a: 1 # x\n  # bee\n  b: 'q'\n# two\n- a: 3\n");
	/* the first of a map behind a dash goes */
	n = copy_of(was);
	yn_remove(yn_get(n, "m")->item[0], 0);
	assert_patched(n->origin, n, "# top\n\n# ems\nm: # here\n# one\n# bee\n- b: 'q'\n# two\n- a: 2\n");
	/* items change places, one moves to another list */
	n = copy_of(was);
	m = yn_get(n, "m");
	yn_add(pool, m, m->item[0]);
	yn_remove(m, 0);
	assert_patched(n->origin, n, "# top\n\n# ems\nm: # here\n# two\n- a: 2\n# one\n- a: 1 # x\n  # bee\n  b: 'q'\n");
	yn_set(pool, n, "w", yn_map(pool));
	yn_set(pool, yn_get(n, "w"), "l", yn_copy(pool, m));
	yn_remove(n, 0);
	assert_patched(n->origin, n,
		       "# top\n\nw:\n  l:\n  # two\n  - a: 2\n  # one\n  - a: 1 # x\n    # bee\n    b: 'q'\n");
}

static void test_values_of_other_texts_bring_their_comments(void **state)
{
	const struct ynode *was = tree("# mine\ncpus: 2\nmounts:\n- location: \"~\"\n");
	const struct ynode *base = tree("# head of the base\n\n# why\nimages: # these\r\n    # one\r\n    - location: a # x\r\n"
					"      arch: b\r\n# where\nmounts:\n# tmp\n- location: /tmp # t\n\n# flow\nf: [a,  b]\n");
	struct ynode *n = yn_copy(pool, was);

	(void)state;
	yn_put(pool, n, base->key[0], base->item[0]);
	yn_put(pool, n, yn_copy(pool, base->key[2]), yn_copy(pool, base->item[2]));
	yn_insert(pool, yn_get(n, "mounts"), 0, yn_copy(pool, yn_get(base, "mounts")->item[0]));
	assert_patched(was, n,
		       "# mine\ncpus: 2\nmounts:\n# tmp\n- location: /tmp # t\n- location: \"~\"\n# why\nimages: # these\n"
		       "    # one\n    - location: a # x\n      arch: b\n# flow\nf: [a,  b]\n");
}

static void test_empty_brackets_open_to_lines(void **state)
{
	struct ynode *n = copy_of("m: [] # c\ne: {}\nn: 1\n");

	(void)state;
	yn_add(pool, yn_get(n, "m"), yn_map(pool));
	yn_set(pool, yn_get(n, "m")->item[0], "location", yn_string(pool, "~"));
	yn_set(pool, yn_get(n, "e"), "k", yn_string(pool, "a\nb\n"));
	assert_patched(n->origin, n, "m: # c\n- location: \"~\"\ne:\n  k: |\n    a\n    b\nn: 1\n");
}

/* Two keys of one name in what is copied: its lines cannot be taken over. */
static void test_lines_that_say_something_else_are_not_copied(void **state)
{
	struct findings f = { 0 };
	static const char twice[] = "# c\nm:\n  a: 1\n  a: 2\n  b: 3 # d\n";
	const struct ynode *other = yn_parse(pool, "o", twice, sizeof(twice) - 1, &f), *was = tree("x: 1\n");
	struct ynode *n = yn_copy(pool, was);

	(void)state;
	findings_fini(&f);
	yn_put(pool, n, yn_copy(pool, other->key[0]), yn_copy(pool, other->item[0]));
	assert_patched(was, n, "x: 1\nm:\n  a: 1\n  b: 3\n");
}

static void assert_refused(const char *was, const char *now, const char *why)
{
	auto_buf out = BUF_INIT(1 << 20);
	struct err e;

	assert_int_equal(yn_patch(tree(was), tree(now), &out, &e), -1);
	assert_string_equal(e.msg, why);
	assert_int_equal(out.len, 0);
}

static void test_what_cannot_be_done_is_refused_by_name(void **state)
{
	(void)state;
	assert_refused("a: 1\n? m\n: k: [1]\n", "{a: 1, m: {k: [2]}}",
		       "f.yaml:3: `m.k[0]` cannot be changed without changing something else; edit the file");
	assert_refused("? a\n: 1\n", "{a: 1, b: 2}",
		       "f.yaml:1: `b` cannot be changed without changing something else; edit the file");
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
		cmocka_unit_test(test_an_unchanged_document_keeps_its_text),
		cmocka_unit_test(test_unchanged_values_keep_their_lines_and_comments),
		cmocka_unit_test(test_lines_move_to_another_indentation),
		cmocka_unit_test(test_changed_copies_keep_what_they_were_copied_with),
		cmocka_unit_test(test_values_of_other_texts_bring_their_comments),
		cmocka_unit_test(test_empty_brackets_open_to_lines),
		cmocka_unit_test(test_lines_that_say_something_else_are_not_copied),
		cmocka_unit_test(test_what_cannot_be_done_is_refused_by_name),
	};

	return RUN_WITH_POOL(tests);
}
