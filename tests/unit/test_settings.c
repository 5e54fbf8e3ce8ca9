#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "lib/settings.h"

static struct settings s;

static void test_round_trip(void **state)
{
	auto_buf b = BUF_INIT(SETTINGS_SIZE_MAX);
	struct err e;

	(void)state;
	assert_int_equal(settings_put(&b, "hostname", "demo"), 0);
	assert_int_equal(settings_put(&b, "script.0", "a=b\nc\\n\\\n\n"), 0);
	assert_int_equal(settings_put(&b, "EMPTY_1-x", ""), 0);
	assert_int_equal(settings_put(&b, "on", "true"), 0);
	assert_string_equal(b.data, "hostname=demo\nscript.0=a=b\\nc\\\\n\\\\\\n\\n\nEMPTY_1-x=\non=true\n");
	assert_int_equal(settings_parse(&s, b.data, &e), 0);
	assert_int_equal(s.count, 4);
	assert_string_equal(settings_get(&s, "hostname", "?"), "demo");
	assert_string_equal(settings_get(&s, "script.0", "?"), "a=b\nc\\n\\\n\n");
	assert_string_equal(settings_get(&s, "EMPTY_1-x", "?"), "");
	assert_string_equal(settings_get(&s, "other", "?"), "?");
	assert_null(settings_get(&s, "other", NULL));
	assert_true(settings_true(&s, "on"));
	assert_false(settings_true(&s, "hostname"));
	assert_false(settings_true(&s, "other"));
}

static void test_refused_puts(void **state)
{
	static char big[65 * 1024 + 1];
	auto_buf b = BUF_INIT(100);

	(void)state;
	memset(big, 'x', sizeof(big) - 1);
	assert_int_equal(settings_put(&b, "a", "kept"), 0);
	assert_int_equal(settings_put(&b, "", "v"), -1);
	assert_int_equal(settings_put(&b, "a b", "v"), -1);
	assert_int_equal(settings_put(&b, "a=b", "v"), -1);
	assert_int_equal(settings_put(&b, "a\n", "v"), -1);
	assert_int_equal(settings_put(&b, "key", big), -1);
	big[200] = '\0';
	assert_int_equal(settings_put(&b, "key", big), -1); /* the buffer is full */
	memset(big, '\n', 60);
	big[60] = '\0';
	assert_int_equal(settings_put(&b, "key", big), -1);
	assert_string_equal(b.data, "a=kept\n");
	assert_int_equal(b.len, 7);
}

static void check_refused(const char *text, const char *says)
{
	struct err e = { 0 };
	char copy[200];

	snprintf(copy, sizeof(copy), "%s", text);
	assert_int_equal(settings_parse(&s, copy, &e), -1);
	assert_int_equal(e.kind, ERR_INVALID);
	if (!strstr(e.msg, says))
		fail_msg("\"%s\" lacks \"%s\"", e.msg, says);
}

static void test_refused_texts(void **state)
{
	(void)state;
	check_refused("a=b\nhostname\n", "line 2: no '='");
	check_refused("a=b\n\nc=d\n", "line 2");
	check_refused("=v\n", "line 1: malformed key");
	check_refused("a b=v\n", "line 1: malformed key");
	check_refused("a=b\nc=\\t\n", "line 2: unknown escape");
	check_refused("a=\\", "line 1: unknown escape");
}

static void test_too_many_lines(void **state)
{
	auto_buf b = BUF_INIT(SETTINGS_SIZE_MAX);
	struct err e;

	(void)state;
	for (int i = 0; i < SETTINGS_LINES_MAX; i++)
		assert_int_equal(buf_addf(&b, "k%d=%d\n", i, i), 0);
	assert_int_equal(buf_adds(&b, "one=more"), 0);
	assert_int_equal(settings_parse(&s, b.data, &e), -1);
	assert_non_null(strstr(e.msg, "1024"));
}

static void test_odd_but_right(void **state)
{
	char none[] = "", last[] = "a=1\nb=2";
	struct err e;

	(void)state;
	assert_int_equal(settings_parse(&s, none, &e), 0);
	assert_int_equal(s.count, 0);
	assert_int_equal(settings_parse(&s, NULL, &e), 0);
	assert_int_equal(settings_parse(&s, last, &e), 0);
	assert_string_equal(settings_get(&s, "b", ""), "2");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_round_trip),
		cmocka_unit_test(test_refused_puts),
		cmocka_unit_test(test_refused_texts),
		cmocka_unit_test(test_too_many_lines),
		cmocka_unit_test(test_odd_but_right),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
