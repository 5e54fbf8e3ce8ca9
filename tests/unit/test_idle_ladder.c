/* Whether a machine may sleep: each reason to stay awake, under each policy, on a clock of the test's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "limactl-c/hostagent/idle_ladder.h"

enum { NOW = 10000000, PAUSE = 10000, SUSPEND = 3600000 };

/* One that may go to sleep now, under any policy but never. */
static struct ladder quiet(enum ladder_when when)
{
	return (struct ladder){ .when = when, .pause_ms = PAUSE, .suspend_ms = SUSPEND, .engine = true, .state = LADDER_AWAKE,
				.used = NOW - PAUSE, .containers = LADDER_NONE };
}

static void expect(const struct ladder *l, enum ladder_step step, enum ladder_why why, int64_t at)
{
	struct ladder_next n = ladder_decide(l, NOW);

	assert_int_equal(n.step, step);
	if (step != LADDER_STAY)
		return;
	assert_int_equal(n.why, why);
	assert_true(n.at == at);
}

static void quiet_is_paused(void **state)
{
	struct ladder l = quiet(LADDER_NO_CONTAINERS);

	(void)state;
	expect(&l, LADDER_PAUSE, 0, 0);
	l = quiet(LADDER_NO_CONNECTIONS);
	expect(&l, LADDER_PAUSE, 0, 0);
	l = quiet(LADDER_NEVER);
	expect(&l, LADDER_STAY, LADDER_OFF, INT64_MAX);
}

/* What each reason does under noContainers and noConnections. */
static void reasons_to_stay_awake(void **state)
{
	static const struct {
		enum ladder_why why;
		bool no_connections; /* it counts there too */
		int64_t at;
		struct ladder l; /* what differs from quiet() */
	} rows[] = {
		{ LADDER_COMMANDS, true, INT64_MAX, { .commands = 1 } },
		{ LADDER_REQUESTS, true, INT64_MAX, { .requests = 1 } },
		{ LADDER_USED, true, NOW + 1, { .used = NOW - PAUSE + 1 } },
		{ LADDER_ANSWERS, true, NOW + 1, { .asked = NOW - LADDER_ANSWER_MS + 1 } },
		{ LADDER_FAILED, true, INT64_MAX, { .failed = LADDER_PAUSE } },
		{ LADDER_FAILED, true, INT64_MAX, { .failed = LADDER_SUSPEND, .pause_ms = -1 } },
		{ LADDER_CONTAINERS, false, INT64_MAX, { .containers = LADDER_SOME, .told = true } },
		{ LADDER_CONTAINERS, false, NOW + 1, { .containers = LADDER_SOME, .containers_at = NOW - LADDER_ASK_AGAIN_MS + 1 } },
		{ LADDER_ASKING, false, INT64_MAX, { .containers = LADDER_ASKED } },
		{ LADDER_NO_ANSWER, false, NOW + 1, { .containers = LADDER_SILENT, .containers_at = NOW - LADDER_ASK_AGAIN_MS + 1 } },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		for (enum ladder_when when = LADDER_NO_CONTAINERS; when < LADDER_NEVER; when++) {
			struct ladder l = rows[i].l, q = quiet(when);

			l.when = when;
			l.pause_ms = l.pause_ms ? 0 : q.pause_ms; /* not 0: without a pause */
			l.suspend_ms = q.suspend_ms;
			l.engine = q.engine;
			l.state = q.state;
			l.used = l.used ? l.used : l.pause_ms ? q.used : NOW - SUSPEND;
			l.containers = l.containers ? l.containers : q.containers;
			if (when == LADDER_NO_CONNECTIONS && !rows[i].no_connections)
				expect(&l, LADDER_PAUSE, 0, 0);
			else
				expect(&l, LADDER_STAY, rows[i].why, rows[i].at);
		}
	}
}

static void docker_is_asked_once_it_is_quiet(void **state)
{
	struct ladder l = quiet(LADDER_NO_CONTAINERS);

	(void)state;
	l.containers = LADDER_UNKNOWN;
	expect(&l, LADDER_ASK, 0, 0);
	l.used = NOW;
	expect(&l, LADDER_STAY, LADDER_USED, NOW + PAUSE);
	/* And again when it did not answer, or does not tell of a container's end: else the machine would be awake for ever. */
	l = quiet(LADDER_NO_CONTAINERS);
	l.containers_at = NOW - LADDER_ASK_AGAIN_MS;
	l.containers = LADDER_SILENT;
	expect(&l, LADDER_ASK, 0, 0);
	l.containers = LADDER_SOME;
	expect(&l, LADDER_ASK, 0, 0);
	l = quiet(LADDER_NO_CONNECTIONS);
	l.containers = LADDER_UNKNOWN;
	expect(&l, LADDER_PAUSE, 0, 0);
}

/* A guest whose containers nobody can count is left alone, unless its containers may be frozen. */
static void without_docker_there_is_nobody_to_ask(void **state)
{
	struct ladder l = quiet(LADDER_NO_CONTAINERS);

	(void)state;
	l.engine = false;
	l.containers = LADDER_UNKNOWN;
	expect(&l, LADDER_STAY, LADDER_NO_ENGINE, INT64_MAX);
	l.when = LADDER_NO_CONNECTIONS;
	expect(&l, LADDER_PAUSE, 0, 0);
}

static void times_of_zero_mean_never(void **state)
{
	struct ladder l = quiet(LADDER_NO_CONNECTIONS);

	(void)state;
	l.pause_ms = 0;
	expect(&l, LADDER_STAY, LADDER_USED, l.used + SUSPEND);
	l.used = NOW - SUSPEND;
	expect(&l, LADDER_SUSPEND, 0, 0);
	l.suspend_ms = 0;
	expect(&l, LADDER_STAY, LADDER_OFF, INT64_MAX);
}

static void paused_it_is_woken_or_sleeps_deeper(void **state)
{
	struct ladder l = quiet(LADDER_NO_CONTAINERS);

	(void)state;
	l.state = LADDER_PAUSED;
	expect(&l, LADDER_STAY, LADDER_USED, l.used + SUSPEND);
	l.pressure = true;
	expect(&l, LADDER_SUSPEND, 0, 0);
	l.failed = LADDER_SUSPEND; /* it cannot be saved */
	expect(&l, LADDER_STAY, LADDER_FAILED, INT64_MAX);
	l.wanted = true;
	expect(&l, LADDER_WAKE, 0, 0);
	l = quiet(LADDER_NO_CONTAINERS);
	l.state = LADDER_PAUSED;
	l.used = NOW - SUSPEND;
	expect(&l, LADDER_SUSPEND, 0, 0);
	l.suspend_ms = 0;
	expect(&l, LADDER_STAY, LADDER_OFF, INT64_MAX);
	l.when = LADDER_NEVER; /* paused by hand */
	l.pressure = true;
	expect(&l, LADDER_STAY, LADDER_OFF, INT64_MAX);
	l.wanted = true;
	expect(&l, LADDER_WAKE, 0, 0);
}

static void suspended_it_is_woken_by_use_alone(void **state)
{
	struct ladder l = quiet(LADDER_NO_CONNECTIONS);

	(void)state;
	l.state = LADDER_SUSPENDED;
	l.pressure = true;
	expect(&l, LADDER_STAY, LADDER_FREE, INT64_MAX);
	l.wanted = true;
	expect(&l, LADDER_WAKE, 0, 0);
}

static void held_it_waits_for_a_command(void **state)
{
	struct ladder l = quiet(LADDER_NO_CONTAINERS);

	(void)state;
	l.held = l.wanted = l.pressure = true;
	for (l.state = LADDER_PAUSED; l.state <= LADDER_SUSPENDED; l.state++)
		expect(&l, LADDER_STAY, LADDER_HELD, INT64_MAX);
}

static void nothing_is_begun_while_something_is_done(void **state)
{
	struct ladder l = quiet(LADDER_NO_CONTAINERS);

	(void)state;
	l.state = LADDER_CHANGING;
	l.wanted = true;
	expect(&l, LADDER_STAY, LADDER_BUSY, INT64_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(quiet_is_paused),
		cmocka_unit_test(reasons_to_stay_awake),
		cmocka_unit_test(docker_is_asked_once_it_is_quiet),
		cmocka_unit_test(without_docker_there_is_nobody_to_ask),
		cmocka_unit_test(times_of_zero_mean_never),
		cmocka_unit_test(paused_it_is_woken_or_sleeps_deeper),
		cmocka_unit_test(suspended_it_is_woken_by_use_alone),
		cmocka_unit_test(held_it_waits_for_a_command),
		cmocka_unit_test(nothing_is_begun_while_something_is_done),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
