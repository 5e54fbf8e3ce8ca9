/* Records of changes in shared folders. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "lib/fevent.h"

static struct fe_record r;
static uint8_t bytes[2 * FE_RECORD_MAX];

static void test_comes_as_it_was(void **state)
{
	static const struct {
		enum fe_kind kind;
		unsigned mount;
		const char *path;
	} rows[] = {
		{ FE_HERE, 0, "" },   { FE_CHANGED, 31, "" },        { FE_CHANGED, 1, "a" },      { FE_GONE, 2, "a/b c/\n\xff" },
		{ FE_LEFT, 3, "..." }, { FE_CHANGED, 4, ".a/..b/c." }, { FE_CHANGED, 4, "a/.git" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		size_t n = fe_pack(rows[i].kind, rows[i].mount, rows[i].path, bytes);

		assert_int_equal(n, FE_HEADER + strlen(rows[i].path));
		for (size_t part = 0; part < n; part++)
			assert_int_equal(fe_unpack(&r, bytes, part), 0);
		assert_int_equal(fe_unpack(&r, bytes, sizeof(bytes)), n); /* whatever is behind it */
		assert_int_equal(r.kind, rows[i].kind);
		assert_int_equal(r.mount, rows[i].mount);
		assert_string_equal(r.path, rows[i].path);
	}
}

static void test_leads_nowhere_else(void **state)
{
	static const char *const bad[] = { "/", "/a", "a/", "a//b", ".", "..", "./a",
					   "../a", "a/.", "a/..", "a/./b", "a/../b", "a/../../b" };

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		size_t n = fe_pack(FE_CHANGED, 0, bad[i], bytes);

		assert_false(fe_path_ok(bad[i], strlen(bad[i])));
		assert_int_equal(fe_unpack(&r, bytes, n), -1);
	}
	assert_int_equal(fe_unpack(&r, (const uint8_t *)"\3\0\3\0a\0b", 7), -1); /* a NUL in it */
}

static void test_other_bytes_are_none(void **state)
{
	static const uint8_t bad[][FE_HEADER] = { { 0, 0, 0, 0 },  { 0, 0, 5, 0 }, { 0, 0, 3, 32 },
						  { 0, 16, 3, 0 }, { 0, 0, 4, 0 }, { 0, 0, 2, 0 } };

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		assert_int_equal(fe_unpack(&r, bad[i], FE_HEADER), -1);
	/* The longest there is. */
	memset(bytes, 'a', sizeof(bytes));
	memcpy(bytes, "\xff\x0f\3\0", FE_HEADER);
	assert_int_equal(fe_unpack(&r, bytes, sizeof(bytes)), FE_RECORD_MAX);
	assert_int_equal(strlen(r.path), FE_PATH_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_comes_as_it_was),
		cmocka_unit_test(test_leads_nowhere_else),
		cmocka_unit_test(test_other_bytes_are_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
