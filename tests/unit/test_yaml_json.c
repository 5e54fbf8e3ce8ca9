#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka wants these first */
#include <cmocka.h>

#include <string.h>

#include "yaml_util.h"

static void assert_json(const char *yaml, unsigned indent, const char *json)
{
	auto_buf out = BUF_INIT(1 << 20);

	assert_int_equal(yn_json(tree(yaml), indent, &out), 0);
	assert_string_equal(out.data, json);
}

static void test_numbers_become_those_of_json(void **state)
{
	static const struct {
		const char *yaml, *json;
	} rows[] = {
		{ "0", "0" },
		{ "-0", "-0" },
		{ "+3", "3" },
		{ "012", "12" },
		{ "-007", "-7" },
		{ "0o17", "15" },
		{ "0xfF", "255" },
		{ "0xffffffffffffffff", "18446744073709551615" },
		{ "0x10000000000000000", "\"0x10000000000000000\"" },
		{ "123456789012345678901234567890", "123456789012345678901234567890" },
		{ "1.5", "1.5" },
		{ "1.", "1.0" },
		{ ".5", "0.5" },
		{ "-.5e3", "-0.5e3" },
		{ "+01.50", "1.50" },
		{ "1e3", "1e3" },
		{ "00", "0" },
		{ ".inf", "\".inf\"" },
		{ "-.INF", "\"-.INF\"" },
		{ ".nan", "\".nan\"" },
		{ "True", "true" },
		{ "FALSE", "false" },
		{ "~", "null" },
		{ "yes", "\"yes\"" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		assert_json(yn_printf(pool, "- %s\n", rows[i].yaml), 0, yn_printf(pool, "[%s]", rows[i].json));
}

static void test_texts_are_escaped_where_they_must(void **state)
{
	(void)state;
	assert_json("\"a\\\"\\\\\\n\\t\\r\\b\\f\\0\\x1b\\x7f/<&> \xe2\x82\xac \xf0\x9f\x9f\xa2\\u2028\\ufeff\\x85\"", 0,
		    "\"a\\\"\\\\\\n\\t\\r\\b\\f\\u0000\\u001b\\u007f/<&> \xe2\x82\xac \xf0\x9f\x9f\xa2\\u2028\\ufeff"
		    "\\u0085\"");
	assert_json("a: !!binary /2H/\n", 0, "{\"a\":\"\\ufffda\\ufffd\"}");
}

static void test_collections_in_one_line_and_in_many(void **state)
{
	static const char yaml[] = "a: 1\nb:\n- x\n- {}\n- c: []\n  d:\n";

	(void)state;
	assert_json(yaml, 0, "{\"a\":1,\"b\":[\"x\",{},{\"c\":[],\"d\":null}]}");
	assert_json(yaml, 4,
		    "{\n    \"a\": 1,\n    \"b\": [\n        \"x\",\n        {},\n        {\n            \"c\": [],\n"
		    "            \"d\": null\n        }\n    ]\n}");
}

static void test_a_full_buffer_is_told(void **state)
{
	auto_buf out = BUF_INIT(5);

	(void)state;
	assert_int_equal(yn_json(tree("abcdef: 1"), 0, &out), -1);
	buf_free(&out);
	assert_int_equal(yn_emit(tree("abcdef: 1"), &out), -1);
	buf_free(&out);
	assert_int_equal(yn_emit_scalar(yn_string(pool, "abcdef"), &out), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_numbers_become_those_of_json),
		cmocka_unit_test(test_texts_are_escaped_where_they_must),
		cmocka_unit_test(test_collections_in_one_line_and_in_many),
		cmocka_unit_test(test_a_full_buffer_is_told),
	};

	return RUN_WITH_POOL(tests);
}
