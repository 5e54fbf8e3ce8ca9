#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "limactl-c/base/jsonx.h"

static struct jx *parse(const char *text)
{
	struct err e = { 0 };
	struct jx *v = jx_parse(text, strlen(text), "test", &e);

	if (!v)
		fail_msg("%s", e.msg);
	return v;
}

static void test_getters(void **state)
{
	auto_jx *o = parse("{\"s\":\"x\",\"n\":7,\"b\":true,\"o\":{},\"a\":[1,\"two\"],\"z\":null}");
	struct err e = { 0 };
	int64_t n;
	bool b;

	(void)state;
	assert_string_equal(jx_string(o, "s", &e), "x");
	assert_int_equal(jx_int(o, "n", 0, 10, &n, &e), 0);
	assert_int_equal(n, 7);
	assert_int_equal(jx_bool(o, "b", &b, &e), 0);
	assert_true(b);
	assert_true(jx_is_object(jx_object(o, "o", &e)));
	assert_int_equal(jx_count(jx_array(o, "a", &e)), 2);
	assert_string_equal(jx_as_string(jx_at(jx_member(o, "a"), 1)), "two");
	assert_null(jx_at(jx_member(o, "a"), 2));
	assert_true(jx_is_null(jx_member(o, "z")));
	assert_string_equal(jx_string_or(o, "n", "other"), "other");
	assert_int_equal(jx_int_or(o, "none", -1), -1);
	assert_true(jx_bool_or(o, "s", true));
}

/* Each names the member and what is wrong with it. */
static void test_errors_name_the_member(void **state)
{
	auto_jx *o = parse("{\"s\":\"x\",\"n\":7,\"z\":null}");
	struct err e = { 0 };
	int64_t n;
	bool b;

	(void)state;
	assert_null(jx_string(o, "none", &e));
	assert_string_equal(e.msg, "member \"none\" is missing");
	assert_null(jx_string(o, "n", &e));
	assert_string_equal(e.msg, "member \"n\" is not a string");
	assert_int_equal(jx_int(o, "s", 0, 1, &n, &e), -1);
	assert_string_equal(e.msg, "member \"s\" is not a whole number");
	assert_int_equal(jx_int(o, "n", 0, 6, &n, &e), -1);
	assert_string_equal(e.msg, "member \"n\" is 7, not from 0 to 6");
	assert_int_equal(jx_bool(o, "z", &b, &e), -1);
	assert_string_equal(e.msg, "member \"z\" is not true or false");
	assert_null(jx_object(o, "s", &e));
	assert_string_equal(e.msg, "member \"s\" is not an object");
	assert_null(jx_array(o, "s", &e));
	assert_string_equal(e.msg, "member \"s\" is not an array");
	assert_null(jx_string(jx_member(o, "s"), "x", &e));
	assert_int_equal(e.kind, ERR_INVALID);
}

static void test_bad_documents(void **state)
{
	static const char *const bad[] = { "", "{", "[1,]", "{} {}", "\"\\u0000\"", "nul", "\xff" };
	struct err e;
	size_t deep = 1 << 20;
	char *nested = malloc(deep);

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		e = (struct err){ 0 };
		assert_null(jx_parse(bad[i], strlen(bad[i]), "doc", &e));
		assert_int_equal(e.kind, ERR_INVALID);
		assert_memory_equal(e.msg, "doc: line ", 10);
	}
	memset(nested, '[', deep);
	assert_null(jx_parse(nested, deep, "doc", &e));
	free(nested);
	assert_null(jx_parse("", JX_TEXT_MAX + 1, "doc", &e));
}

static void test_build_and_dump(void **state)
{
	auto_jx *o = jx_new_object();
	struct jx *list = jx_new_array();
	auto_free char *text = NULL;

	(void)state;
	jx_set_string(o, "b", "1");
	jx_set_string(o, "a", "quote \" and \n and \x01");
	jx_set_string(o, "left-out", NULL);
	jx_add_int(list, -5);
	jx_add_string(list, "x");
	jx_set(o, "list", list);
	jx_set_bool(o, "yes", true);
	jx_set_null(o, "nothing");
	text = jx_dump(o);
	assert_string_equal(text, "{\"b\":\"1\",\"a\":\"quote \\\" and \\n and \\u0001\",\"list\":[-5,\"x\"],"
				  "\"yes\":true,\"nothing\":null}");
}

/* What a guest says need not be UTF-8; the document stays valid. */
static void test_bad_utf8_is_replaced(void **state)
{
	static const struct {
		const char *in, *out;
	} rows[] = {
		{ "a\xff" "b", "\"a\xef\xbf\xbd" "b\"" },
		{ "\xc3\xa4 \xf0\x9f\x98\x80", "\"\xc3\xa4 \xf0\x9f\x98\x80\"" },
		{ "\xc3", "\"\xef\xbf\xbd\"" },
		{ "\xe0\x80\x80", "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"" },
		{ "\xed\xa0\x80", "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"" },
		{ "\xf4\x90\x80\x80", "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		auto_jx *v = jx_new_string(rows[i].in);
		auto_free char *text = jx_dump(v);

		assert_string_equal(text, rows[i].out);
	}
}

static bool collect(void *ctx, const char *name, const struct jx *v)
{
	char *names = ctx;

	(void)v;
	memcpy(names + strlen(names), name, strlen(name) + 1);
	return strcmp(name, "b");
}

static void test_each_in_order_until_false(void **state)
{
	auto_jx *o = parse("{\"c\":1,\"b\":2,\"a\":3}");
	char names[8] = "";

	(void)state;
	jx_each(o, collect, names);
	assert_string_equal(names, "cb");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_getters),
		cmocka_unit_test(test_errors_name_the_member),
		cmocka_unit_test(test_bad_documents),
		cmocka_unit_test(test_build_and_dump),
		cmocka_unit_test(test_bad_utf8_is_replaced),
		cmocka_unit_test(test_each_in_order_until_false),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
