#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka wants these first */
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "lib/buf.h"
#include "limactl-c/base/mem.h"
#include "limactl-c/base/text.h"

static void test_sizes_use_the_largest_unit(void **state)
{
	static const struct {
		uint64_t bytes;
		const char *text;
	} rows[] = {
		{ 0, "0B" },
		{ 1023, "1023B" },
		{ 1024, "1KiB" },
		{ (uint64_t)4 << 30, "4GiB" },
		{ (uint64_t)3 << 29, "1.5GiB" },
		{ ((uint64_t)1 << 30) + ((uint64_t)1 << 28), "1.25GiB" },
		{ ((uint64_t)1 << 20) - 1, "1024KiB" },
		{ UINT64_MAX, "16EiB" },
		{ (uint64_t)100 << 40, "100TiB" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		auto_free char *text = text_size(rows[i].bytes);

		assert_string_equal(text, rows[i].text);
	}
}

static void test_durations_leave_out_what_is_zero(void **state)
{
	static const struct {
		uint64_t seconds;
		const char *text;
	} rows[] = { { 0, "0s" },     { 59, "59s" },  { 60, "1m" },
		     { 90, "1m30s" }, { 3600, "1h" }, { 3661, "1h1m1s" } };

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		auto_free char *text = text_duration(rows[i].seconds);

		assert_string_equal(text, rows[i].text);
	}
}

static void test_the_nearest_word_is_a_slip_not_a_guess(void **state)
{
	static const char *const known[] = { "cpus",    "memory",       "disk",   "os",
					     "cpuType", "portForwards", "vmType", "message" };
	static const struct {
		const char *word, *near;
	} rows[] = {
		{ "memroy", "memory" },
		{ "mem", NULL },
		{ "cpu", "cpus" },
		{ "CPUs", "cpus" },
		{ "cpuTyp", "cpuType" },
		{ "portForward", "portForwards" },
		{ "portforwards", "portForwards" },
		{ "dsik", "disk" },
		{ "x", NULL },
		{ "", NULL },
		{ "networks", NULL },
		{ "mesage", "message" },
		{ "vmtype", "vmType" },
		{ "xy", NULL },
	};
	char longer[200];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		const char *near = text_nearest(rows[i].word, known,
						sizeof(known) / sizeof(*known));

		if ((near == NULL) != (rows[i].near == NULL) ||
		    (near && strcmp(near, rows[i].near)))
			fail_msg("%s: %s", rows[i].word, near ? near : "(none)");
	}
	memset(longer, 'c', sizeof(longer) - 1);
	longer[sizeof(longer) - 1] = '\0';
	assert_null(text_nearest(longer, known, sizeof(known) / sizeof(*known)));
}

static void test_characters_of_utf8(void **state)
{
	static const struct {
		const char *text;
		uint32_t c;
		size_t len;
	} rows[] = {
		{ "a", 'a', 1 },
		{ "", 0, 1 },
		{ "\xc3\xa9x", 0xe9, 2 },
		{ "\xe2\x82\xac", 0x20ac, 3 },
		{ "\xf0\x9f\x98\x80", 0x1f600, 4 },
		{ "\xff", 0, 0 },
		{ "\xc3", 0, 0 },
		{ "\xed\xa0\x80", 0, 0 },
	};
	size_t len;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		assert_int_equal(text_utf8_char(rows[i].text, &len), rows[i].c);
		assert_int_equal(len, rows[i].len);
	}
	assert_int_equal(text_utf8_count("a\xc3\xa9\xe2\x82\xac", 6), 3);
	assert_int_equal(text_utf8_count("a\0b", 3), 3);
	assert_int_equal(text_utf8_count("a", 0), 0);
	assert_int_equal(text_utf8_offset("a\xc3\xa9\xe2\x82\xac", 6, 0), 0);
	assert_int_equal(text_utf8_offset("a\xc3\xa9\xe2\x82\xac", 6, 2), 3);
	assert_int_equal(text_utf8_offset("a\xc3\xa9\xe2\x82\xac", 6, 9), 6);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sizes_use_the_largest_unit),
		cmocka_unit_test(test_durations_leave_out_what_is_zero),
		cmocka_unit_test(test_characters_of_utf8),
		cmocka_unit_test(test_the_nearest_word_is_a_slip_not_a_guess),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
