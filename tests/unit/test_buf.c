/* Growable bytes: which are the same. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "lib/buf.h"

static void same(void **state)
{
	static const struct {
		const char *a, *b; /* NULL: nothing was added */
		bool same;
	} rows[] = {
		{ NULL, NULL, true }, { NULL, "", true }, { "", NULL, true }, { NULL, "a", false }, { "a", NULL, false },
		{ "a", "a", true },   { "a", "b", false }, { "a", "aa", false }, { "aa", "a", false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		auto_buf a = BUF_INIT(8), b = BUF_INIT(16);

		assert_true((!rows[i].a || buf_adds(&a, rows[i].a) == 0) && (!rows[i].b || buf_adds(&b, rows[i].b) == 0));
		assert_int_equal(buf_same(&a, &b), rows[i].same);
	}
}

static void bytes_behind_a_nul_count(void **state)
{
	auto_buf a = BUF_INIT(8), b = BUF_INIT(8);

	(void)state;
	assert_int_equal(buf_add(&a, "x\0y", 3), 0);
	assert_int_equal(buf_add(&b, "x\0z", 3), 0);
	assert_false(buf_same(&a, &b));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(same),
		cmocka_unit_test(bytes_behind_a_nul_count),
	};

	return cmocka_run_group_tests_name("buf", tests, NULL, NULL);
}
