/* When the guest asks for the time and when it believes the answer; all clocks are the test's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "guestagent/clock_sync.h"

#define MS 1000000ULL
#define NOW (1800000000000ULL * MS)
#define HOUR (3600000ULL * MS)

static struct clock_sync c;
static int64_t boot;

static int begin(void **state)
{
	(void)state;
	memset(&c, 0, sizeof(c));
	boot = 100000;
	return 0;
}

static uint64_t told(uint64_t host)
{
	return clock_sync_told(&c, host, NOW, boot);
}

/* Asks when it is due, and is answered after so many ms. */
static uint64_t answer(int trip, uint64_t host, uint64_t own)
{
	uint64_t stamp;

	assert_true(c.ask_at > 0);
	boot = c.ask_at > boot ? c.ask_at : boot;
	stamp = clock_sync_ask(&c, boot);
	assert_int_equal(c.ask_at, 0);
	boot += trip;
	return clock_sync_answered(&c, stamp, host, own, boot);
}

static void a_clock_that_is_right_is_left_alone(void **state)
{
	(void)state;
	assert_int_equal(told(NOW + 100 * MS), 0);
	assert_int_equal(told(NOW - 100 * MS), 0);
	assert_int_equal(c.ask_at, 0);
	clock_sync_changed(&c, boot);
	assert_int_equal(answer(10, NOW + 95 * MS, NOW), 0);
	assert_int_equal(c.ask_at, 0);
}

static void what_is_told_is_asked_for_and_the_answer_sets_the_clock(void **state)
{
	(void)state;
	assert_true(told(NOW + 101 * MS) == NOW + 101 * MS); /* it is that late at least */
	assert_int_equal(c.ask_at, boot);
	assert_true(answer(10, NOW + 8 * HOUR, NOW) == NOW + 8 * HOUR + 5 * MS);
	assert_int_equal(told(NOW - 101 * MS), 0);
	assert_true(answer(0, NOW - HOUR, NOW) == NOW - HOUR);
}

/* It lay in a queue for an hour; the host's answer is what counts. */
static void a_time_that_came_late_sets_nothing(void **state)
{
	(void)state;
	assert_int_equal(told(NOW - HOUR), 0);
	assert_int_equal(answer(4, NOW, NOW + 4 * MS), 0);
	assert_int_equal(c.ask_at, 0);
}

static void an_answer_that_came_late_sets_nothing(void **state)
{
	(void)state;
	told(NOW + HOUR);
	assert_int_equal(answer(2001, NOW + HOUR, NOW), 0);
	assert_true(c.ask_at > 0);
	/* Off by less than it may be wrong itself. */
	assert_int_equal(answer(600, NOW, NOW + 50 * MS), 0);
	assert_true(c.ask_at > 0);
	assert_true(answer(20, NOW + HOUR, NOW) == NOW + HOUR + 10 * MS);
}

static void a_host_that_is_always_slow_is_not_asked_for_ever(void **state)
{
	int asked = 0;

	(void)state;
	for (told(NOW + HOUR); c.ask_at && asked < 100; asked++)
		assert_int_equal(answer(3000, NOW + HOUR, NOW), 0);
	assert_true(asked < 20);
	told(NOW + HOUR);
	assert_true(c.ask_at > 0);
}

static void only_the_last_question_is_answered(void **state)
{
	uint64_t first, second;

	(void)state;
	assert_int_equal(clock_sync_answered(&c, 0, NOW + HOUR, NOW, boot), 0);
	first = clock_sync_ask(&c, boot);
	second = clock_sync_ask(&c, boot + 1);
	assert_int_equal(clock_sync_answered(&c, first, NOW + HOUR, NOW, boot + 2), 0);
	assert_true(clock_sync_answered(&c, second, NOW + HOUR, NOW, boot + 1) > 0);
	assert_int_equal(clock_sync_answered(&c, second, NOW + HOUR, NOW, boot + 3), 0);
}

static void times_that_make_no_sense_are_ignored(void **state)
{
	static const uint64_t absurd[] = { 0, 1, 1577836799ULL * 1000 * MS, 7258118401ULL * 1000 * MS, UINT64_MAX };

	(void)state;
	for (size_t i = 0; i < sizeof(absurd) / sizeof(absurd[0]); i++) {
		assert_int_equal(told(absurd[i]), 0);
		assert_int_equal(c.ask_at, 0);
		clock_sync_changed(&c, boot);
		assert_int_equal(answer(1, absurd[i], NOW), 0);
		assert_true(c.complained);
	}
}

static void setting_it_over_and_over_costs_less_and_less(void **state)
{
	int64_t end = boot + 600000;
	int asked = 0;

	(void)state;
	/* Each time right after we have set it. */
	for (; boot < end; asked++) {
		clock_sync_changed(&c, boot);
		assert_true(answer(1, NOW, NOW - HOUR) > 0);
	}
	assert_true(asked < 30);
	/* Peace makes it prompt again. */
	boot += 61000;
	clock_sync_changed(&c, boot);
	assert_int_equal(c.ask_at, boot);
	assert_int_equal(answer(1, NOW, NOW), 0);
	clock_sync_changed(&c, boot);
	assert_true(c.ask_at - boot <= 500);
}

int main(void)
{
#define T(fn) cmocka_unit_test_setup(fn, begin)
	const struct CMUnitTest tests[] = {
		T(a_clock_that_is_right_is_left_alone),
		T(what_is_told_is_asked_for_and_the_answer_sets_the_clock),
		T(a_time_that_came_late_sets_nothing),
		T(an_answer_that_came_late_sets_nothing),
		T(a_host_that_is_always_slow_is_not_asked_for_ever),
		T(only_the_last_question_is_answered),
		T(times_that_make_no_sense_are_ignored),
		T(setting_it_over_and_over_costs_less_and_less),
	};

	return cmocka_run_group_tests_name("clock_sync", tests, NULL, NULL);
}
