/* When a cache-trim is due, and whether it is worth it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "guestagent/trim.h"
#include "guestagent/trim_judge.h"

static void runs_have_two_minutes_between_them(void **state)
{
	(void)state;
	assert_int_equal(trim_next(0, 1000), 6000);
	assert_int_equal(trim_next(1000, 2000), 121000);
	assert_int_equal(trim_next(1000, 300000), 305000);
}

static void clean_cache_is_neither_dirty_nor_shared(void **state)
{
	(void)state;
	assert_int_equal(trim_clean_cache("MemTotal: 9 kB\nBuffers: 10 kB\nCached:   100 kB\nSwapCached: 7 kB\nDirty: 3 kB\n"
					  "Writeback: 2 kB\nShmem: 5 kB\n"), 100 * 1024);
	assert_int_equal(trim_clean_cache("Cached: 1 kB\nShmem: 5 kB\n"), 0);
	assert_int_equal(trim_clean_cache(""), 0);
	assert_int_equal(trim_clean_cache("Cached"), 0);
}

static void a_busy_guest_is_one_that_waits(void **state)
{
	(void)state;
	assert_true(trim_is_pressed("some avg10=25.00 avg60=0.00 avg300=0.00 total=1\nfull avg10=0.00\n"));
	assert_false(trim_is_pressed("some avg10=24.99 avg60=99.00 avg300=0.00 total=1\nfull avg10=90.00\n"));
	assert_false(trim_is_pressed(""));
}

static void a_program_is_named_by_its_whole_name(void **state)
{
	(void)state;
	assert_true(trim_is_named("mysqld postgres", "postgres\n"));
	assert_true(trim_is_named(" mysqld  postgres ", "mysqld"));
	assert_false(trim_is_named("mysqld postgres", "postgre\n"));
	assert_false(trim_is_named("mysqld", "mysqld_safe\n"));
	assert_false(trim_is_named("", "\n"));
	assert_false(trim_is_named("  ", ""));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(runs_have_two_minutes_between_them),
		cmocka_unit_test(clean_cache_is_neither_dirty_nor_shared),
		cmocka_unit_test(a_busy_guest_is_one_that_waits),
		cmocka_unit_test(a_program_is_named_by_its_whole_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
