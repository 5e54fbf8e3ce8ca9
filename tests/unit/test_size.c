#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka wants these first */
#include <cmocka.h>

#include <string.h>

#include "limactl-c/config/size.h"

#define KIB ((uint64_t)1 << 10)
#define MIB ((uint64_t)1 << 20)
#define GIB ((uint64_t)1 << 30)

static void test_every_spelling_of_a_unit_is_a_power_of_1024(void **state)
{
	static const struct {
		const char *text;
		uint64_t bytes;
	} rows[] = {
		{ "0", 0 },
		{ "1", 1 },
		{ "123b", 123 },
		{ "1073741824", GIB },
		{ "4GiB", 4 * GIB },
		{ "4gib", 4 * GIB },
		{ "4G", 4 * GIB },
		{ "4g", 4 * GIB },
		{ "4GB", 4 * GIB },
		{ "4 GiB", 4 * GIB },
		{ "512MiB", 512 * MIB },
		{ "64KiB", 64 * KIB },
		{ "1.5GiB", 3 * GIB / 2 },
		{ "0.5g", GIB / 2 },
		{ "2.25MiB", 9 * MIB / 4 },
		{ "1TiB", 1024 * GIB },
		{ "1p", 1024 * 1024 * GIB },
		{ "007k", 7 * KIB },
		{ "0.000000001g", 1 },
		{ "9223372036854775807", INT64_MAX },
		{ "7e", 7 * (GIB << 30) },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		uint64_t bytes = 42;
		struct err e = { 0 };

		if (size_parse(rows[i].text, &bytes, &e) < 0 || bytes != rows[i].bytes)
			fail_msg("%s: %llu, %s", rows[i].text, (unsigned long long)bytes, e.msg);
	}
}

static void test_what_is_no_size_is_refused_with_an_example(void **state)
{
	static const char *const rows[] = {
		"",     " ",   "x",      "GiB",    "-1",    "+1",   "1..5g",
		"1.g",  ".5g", "4 GiBs", "4  GiB", "4q",    "4iB5", "1e3x",
		"0x10", " 4g", "4g ",    "1,5g",   "4GiiB", "4bb",  "1.0000000001g",
		"\xff"
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		uint64_t bytes;
		struct err e = { 0 };

		if (size_parse(rows[i], &bytes, &e) == 0)
			fail_msg("\"%s\" was taken as %llu", rows[i], (unsigned long long)bytes);
		if (!strstr(e.msg, "is not a size"))
			fail_msg("\"%s\": %s", rows[i], e.msg);
	}
}

static void test_what_does_not_fit_is_too_large_not_small(void **state)
{
	static const char *const rows[] = { "8e", "16e", "9223372036854775808",
					    "18446744073709551615", "99999999999g" };
	uint64_t bytes;
	struct err e;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		assert_int_equal(size_parse(rows[i], &bytes, &e), -1);
		assert_non_null(strstr(e.msg, "too large"));
	}
	assert_int_equal(size_parse("18446744073709551616", &bytes, &e), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_spelling_of_a_unit_is_a_power_of_1024),
		cmocka_unit_test(test_what_is_no_size_is_refused_with_an_example),
		cmocka_unit_test(test_what_does_not_fit_is_too_large_not_small),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
