#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka wants these first */
#include <cmocka.h>

#include <string.h>

#include "yaml_util.h"

static const struct {
	const char *text, *yaml;
} strings[] = {
	{ "default", "default" },
	{ "4GiB", "4GiB" },
	{ "two words", "two words" },
	{ "1.2.3", "1.2.3" },
	{ "127.0.0.1", "127.0.0.1" },
	{ "https://example.com/a?b=c", "https://example.com/a?b=c" },
	{ "sha256:0123", "sha256:0123" },
	{ "/var/lib/x", "/var/lib/x" },
	{ "-v", "-v" },
	{ "a#b", "a#b" },
	{ "a:b", "a:b" },
	{ "{{.Home}}", "\"{{.Home}}\"" },
	{ "$HOME/{{.Dir}}", "$HOME/{{.Dir}}" },
	{ "gr\xc3\xbc\xc3\x9f", "gr\xc3\xbc\xc3\x9f" },
	{ "\xf0\x9f\x9f\xa2 ok", "\xf0\x9f\x9f\xa2 ok" },
	{ "", "\"\"" },
	{ "~", "\"~\"" },
	{ "null", "\"null\"" },
	{ "True", "\"True\"" },
	{ "yes", "\"yes\"" },
	{ "No", "\"No\"" },
	{ "on", "\"on\"" },
	{ "OFF", "\"OFF\"" },
	{ "y", "\"y\"" },
	{ "1", "\"1\"" },
	{ "-12", "\"-12\"" },
	{ "012", "\"012\"" },
	{ "0o17", "\"0o17\"" },
	{ "0x1f", "\"0x1f\"" },
	{ "0b11", "\"0b11\"" },
	{ "1_000", "\"1_000\"" },
	{ "1.5", "\"1.5\"" },
	{ ".5", "\".5\"" },
	{ "1.", "\"1.\"" },
	{ "1e3", "\"1e3\"" },
	{ ".inf", "\".inf\"" },
	{ "-.Inf", "\"-.Inf\"" },
	{ ".NaN", "\".NaN\"" },
	{ "12:30", "\"12:30\"" },
	{ "190:20:30.15", "\"190:20:30.15\"" },
	{ "2001-12-14", "\"2001-12-14\"" },
	{ "2001-12-14t21:59:43.10-05:00", "\"2001-12-14t21:59:43.10-05:00\"" },
	{ "52:55:55:12:34:56", "\"52:55:55:12:34:56\"" },
	{ "52:55:55:12:34:76", "52:55:55:12:34:76" },
	{ "52:55:55:ab:34:56", "52:55:55:ab:34:56" },
	{ "=", "\"=\"" },
	{ "<<", "\"<<\"" },
	{ " lead", "\" lead\"" },
	{ "trail ", "\"trail \"" },
	{ "a: b", "\"a: b\"" },
	{ "a:", "\"a:\"" },
	{ "a # b", "\"a # b\"" },
	{ "# a", "\"# a\"" },
	{ "- a", "\"- a\"" },
	{ "-", "\"-\"" },
	{ "---", "\"---\"" },
	{ "... x", "\"... x\"" },
	{ "? a", "\"? a\"" },
	{ "[a", "\"[a\"" },
	{ "]a", "\"]a\"" },
	{ "*a", "\"*a\"" },
	{ "&a", "\"&a\"" },
	{ "!a", "\"!a\"" },
	{ "|", "\"|\"" },
	{ ">", "\">\"" },
	{ "'a'", "\"'a'\"" },
	{ "\"a\"", "\"\\\"a\\\"\"" },
	{ "%a", "\"%a\"" },
	{ "@a", "\"@a\"" },
	{ "`a", "\"`a\"" },
	{ "a\tb", "\"a\\tb\"" },
	{ "a\\b", "a\\b" },
	{ "a\rb", "\"a\\rb\"" },
	{ "\x1b[0m", "\"\\x1b[0m\"" },
	{ "\x7f", "\"\\x7f\"" },
	{ "a\xc2\x85", "\"a\\x85\"" },
	{ "a\xe2\x80\xa8", "\"a\\u2028\"" },
	{ "\xef\xbb\xbf" "a", "\"\\ufeffa\"" },
	{ "\xf0\x9f\xbf\xbe", "\"\\U0001fffe\"" },
	{ "\n", "\"\\n\"" },
	{ " \n\t\n", "\" \\n\\t\\n\"" },
};

static void test_strings_are_plain_where_every_reader_agrees(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(strings) / sizeof(*strings); i++) {
		struct ynode *list = yn_list(pool), *map = yn_map(pool);

		yn_add(pool, list, yn_string(pool, strings[i].text));
		assert_emits(list, yn_printf(pool, "- %s\n", strings[i].yaml));
		yn_set(pool, map, strings[i].text, yn_null(pool));
		assert_emits(map, yn_printf(pool, "%s: null\n", strings[i].yaml));
		assert_emits(list->item[0], yn_printf(pool, "%s\n", strings[i].yaml));
	}
}

static void test_lines_of_text_are_literal_blocks(void **state)
{
	static const struct {
		const char *text, *yaml;
	} rows[] = {
		{ "a\n", "|\n    a\n" },
		{ "a\nb", "|-\n    a\n    b\n" },
		{ "a\n\n b\n", "|\n    a\n\n     b\n" },
		{ "a\n\n", "|+\n    a\n\n" },
		{ "a\n\n\n", "|+\n    a\n\n\n" },
		{ " a\nb\n", "|2\n     a\n    b\n" },
		{ "\n\n  a\nb", "|2-\n\n\n      a\n    b\n" },
		{ "\ta\n", "|2\n    \ta\n" },
		{ "\na\n", "|\n\n    a\n" },
		{ "  \na\n", "|2\n      \n    a\n" },
		{ "a\n  \n", "|\n    a\n      \n" },
		{ "a\n  ", "|-\n    a\n      \n" },
		{ "# a\n: b\n- c\n", "|\n    # a\n    : b\n    - c\n" },
		{ "---\n...\n", "|\n    ---\n    ...\n" },
		{ "\xe2\x82\xac\n", "|\n    \xe2\x82\xac\n" },
		{ "a\r\nb\n", "\"a\\r\\nb\\n\"\n" },
		{ "a\n\x01", "\"a\\n\\x01\"\n" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct ynode *root = yn_map(pool), *map = yn_map(pool);

		yn_set(pool, root, "k", map);
		yn_set(pool, map, "s", yn_string(pool, rows[i].text));
		assert_emits(root, yn_printf(pool, "k:\n  s: %s", rows[i].yaml));
		yn_set(pool, map, "t", yn_string(pool, "x"));
		assert_emits(root, yn_printf(pool, "k:\n  s: %s  t: x\n", rows[i].yaml));
	}
}

static void test_collections_are_blocks_without_needless_indentation(void **state)
{
	struct ynode *root = yn_map(pool), *list = yn_list(pool), *map = yn_map(pool), *inner = yn_list(pool);

	(void)state;
	assert_emits(root, "{}\n");
	assert_emits(list, "[]\n");
	yn_set(pool, root, "none", yn_list(pool));
	yn_set(pool, root, "l", list);
	yn_add(pool, list, yn_int(pool, -3));
	yn_set(pool, map, "a", yn_bool(pool, true));
	yn_set(pool, map, "in", inner);
	yn_add(pool, inner, yn_map(pool));
	yn_add(pool, inner, yn_string(pool, "x\n"));
	yn_add(pool, list, map);
	yn_add(pool, list, inner);
	yn_set(pool, root, "m", map);
	assert_emits(root, "none: []\nl:\n- -3\n- a: true\n  in:\n  - {}\n  - |\n    x\n- - {}\n  - |\n    x\n"
			   "m:\n  a: true\n  in:\n  - {}\n  - |\n    x\n");
	assert_emits(inner, "- {}\n- |\n  x\n");
}

static void test_styles_asked_for_are_kept_where_they_are_possible(void **state)
{
	struct ynode *list = yn_list(pool), *map = yn_map(pool);
	static const struct {
		enum yn_style style;
		const char *text;
	} rows[] = {
		{ YN_SINGLE, "it's" }, { YN_SINGLE, "a\nb" },  { YN_DOUBLE, "x" },
		{ YN_LITERAL, "x" },   { YN_FOLDED, "x\ny\n" }, { YN_BINARY, "x" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		yn_add(pool, list, yn_string(pool, rows[i].text));
		list->item[i]->style = rows[i].style;
	}
	yn_set(pool, map, "a b", yn_string(pool, "u:v"));
	map->style = YN_FLOW;
	yn_add(pool, list, map);
	yn_add(pool, list, yn_list(pool));
	list->item[7]->style = YN_FLOW;
	yn_add(pool, list->item[7], yn_string(pool, "a\nb"));
	yn_add(pool, list->item[7], map);
	assert_emits(list, "- 'it''s'\n- \"a\\nb\"\n- \"x\"\n- |-\n  x\n- |\n  x\n  y\n- !!binary eA==\n"
			   "- {a b: \"u:v\"}\n- [\"a\\nb\", {a b: \"u:v\"}]\n");
	/* too wide for one line */
	yn_set(pool, map, "long", yn_string(pool, yn_printf(pool, "x%0100d", 0)));
	assert_emits(map, yn_printf(pool, "a b: u:v\nlong: x%0100d\n", 0));
}

static void test_a_document_without_values_is_an_empty_mapping(void **state)
{
	(void)state;
	assert_emits(tree(""), "{}\n");
	assert_emits(tree("\xef\xbb\xbf\n"), "{}\n");
	assert_emits(tree("# c"), "{}\n");
}

static void test_where_a_tree_was_read_makes_no_difference(void **state)
{
	static const char yaml[] = "a: 1\nb: {k: 'v'}\nc:\n  <<: {k: 'v'}\nd: {<<: {k: 'v'}, k: 1}\n"
				   "e: {'<<': 1}\n'<<': [a]\n";
	const struct ynode *n = tree("\xef\xbb\xbf# head\r\na:   1 # c\r\nb: &x {k:  'v'}\r\nc:\r\n    <<: *x\r\n"
				     "d: {<<: *x,\r\n  k: 1}\r\ne: {'<<': 1}\r\n'<<': [a]");

	(void)state;
	assert_emits(n, yaml);
	assert_emits(yn_copy(pool, n), yaml);
}

static void test_binary_comes_back_as_it_went(void **state)
{
	char bytes[300];
	struct ynode *n = yn_map(pool);
	const struct ynode *again;

	(void)state;
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (char)(i * 7);
	for (size_t len = 0; len < sizeof(bytes); len++) {
		yn_set(pool, n, "k", yn_scalar(pool, YN_STRING, bytes, len));
		n->item[0]->style = YN_BINARY;
		again = tree(emitted(n));
		assert_int_equal(again->item[0]->style, YN_BINARY);
	}
	again = tree("a: !!binary |\n  aGVs\n  bG8=\nb: !!binary \"aGVsbG8\"\nc: !!binary \"\"\n");
	assert_string_equal(again->item[0]->text, "hello");
	assert_string_equal(again->item[1]->text, "hello");
	assert_int_equal(again->item[2]->len, 0);
	/* bytes that are no text have no other way */
	yn_set(pool, n, "k", yn_string(pool, "\xff\xfe"));
	assert_emits(n, "k: !!binary //4=\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_strings_are_plain_where_every_reader_agrees),
		cmocka_unit_test(test_lines_of_text_are_literal_blocks),
		cmocka_unit_test(test_collections_are_blocks_without_needless_indentation),
		cmocka_unit_test(test_styles_asked_for_are_kept_where_they_are_possible),
		cmocka_unit_test(test_a_document_without_values_is_an_empty_mapping),
		cmocka_unit_test(test_where_a_tree_was_read_makes_no_difference),
		cmocka_unit_test(test_binary_comes_back_as_it_went),
	};

	return RUN_WITH_POOL(tests);
}
