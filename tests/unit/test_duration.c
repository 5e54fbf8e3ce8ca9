#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka wants these first */
#include <cmocka.h>

#include <string.h>

#include "limactl-c/config/size.h"

static void test_durations_are_read_as_go_writes_them(void **state)
{
	static const struct {
		const char *text;
		uint32_t seconds;
	} rows[] = {
		{ "0", 0 },
		{ "0s", 0 },
		{ "10s", 10 },
		{ "1h", 3600 },
		{ "1m30s", 90 },
		{ "1.5h", 5400 },
		{ "1h0m1s", 3601 },
		{ "1000ms", 1 },
		{ "0.5m", 30 },
		{ "90m", 5400 },
		{ "1s1s", 2 },
		{ "1500ms500ms", 2 },
		{ "2147483647s", 2147483647 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		uint32_t seconds = 77;
		struct err e = { 0 };

		if (duration_parse(rows[i].text, &seconds, &e) < 0 || seconds != rows[i].seconds)
			fail_msg("%s: %u, %s", rows[i].text, seconds, e.msg);
	}
}

static void test_what_is_no_duration_is_refused_with_the_reason(void **state)
{
	static const struct {
		const char *text, *why;
	} rows[] = {
		{ "", "is not a duration" },
		{ "10", "is not a duration" },
		{ "s", "is not a duration" },
		{ "-1s", "is not a duration" },
		{ "1d", "is not a duration" },
		{ "1 s", "is not a duration" },
		{ "1s ", "is not a duration" },
		{ "1h30", "is not a duration" },
		{ "1.h", "is not a duration" },
		{ "500ms", "not whole seconds" },
		{ "0.5s", "not whole seconds" },
		{ "0.0001s", "finer than a millisecond" },
		{ "2147483648s", "too long" },
		{ "18446744073709551615h", "too long" },
		{ "5124095576030h5124095576030h", "too long" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		uint32_t seconds;
		struct err e = { 0 };

		if (duration_parse(rows[i].text, &seconds, &e) == 0 || !strstr(e.msg, rows[i].why))
			fail_msg("\"%s\": %s", rows[i].text, e.msg);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_durations_are_read_as_go_writes_them),
		cmocka_unit_test(test_what_is_no_duration_is_refused_with_the_reason),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
