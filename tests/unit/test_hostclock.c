/* The host's clock is set: the kernel's timer is a pipe of the test's, so that no clock of this machine is touched, and
 * time passes when the test says so. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <sys/timerfd.h>
#include <unistd.h>
#include <uv.h>

#include "limactl-c/hostagent/hostclock.h"

static int timer[2] = { -1, -1 }; /* what is written to [1] makes it readable */
static int timer_flags;
static struct loop *loop;
static unsigned calls;
static unsigned rounds;
static uv_timer_t *rest; /* what was armed last, */
static uv_timer_cb rest_over;
static uint64_t rest_ms; /* and for how long */

int timerfd_create(int id, int flags)
{
	(void)flags;
	assert_int_equal(id, CLOCK_REALTIME);
	assert_int_equal(pipe2(timer, O_CLOEXEC | O_NONBLOCK), 0);
	return timer[0];
}

int timerfd_settime(int fd, int flags, const struct itimerspec *at, struct itimerspec *old)
{
	(void)old;
	assert_int_equal(fd, timer[0]);
	assert_true(at->it_value.tv_sec > 0 && !at->it_interval.tv_sec);
	timer_flags = flags;
	return 0;
}

/* libuv's own timers never run. */
int uv_timer_start(uv_timer_t *t, uv_timer_cb fn, uint64_t ms, uint64_t repeat)
{
	assert_int_equal(repeat, 0);
	rest = t;
	rest_over = fn;
	rest_ms = ms;
	return 0;
}

static void on_change(void *ctx)
{
	assert_ptr_equal(ctx, &calls);
	calls++;
}

static void on_other(void *ctx, unsigned events)
{
	(void)ctx;
	(void)events;
	if (++rounds % 10 == 0)
		loop_stop(loop);
}

/* Everything that can happen now has happened: a few rounds of the loop, which another descriptor keeps awake. */
static void run(int fd)
{
	struct watch *w = watch_new(loop, fd, on_other, NULL);

	watch_set(w, WATCH_WRITE);
	loop_run(loop);
	watch_free(w);
}

static void a_change_is_told_and_a_flood_once_a_second(void **state)
{
	struct hostclock *h;
	int other[2];

	(void)state;
	assert_int_equal(pipe2(other, O_CLOEXEC), 0);
	loop = loop_new();
	h = hostclock_new(loop, on_change, &calls);
	assert_non_null(h);
	assert_true(timer_flags & TFD_TIMER_CANCEL_ON_SET);
	for (int i = 0; i < 100; i++)
		assert_int_equal(write(timer[1], "12345678", 8), 8);
	for (unsigned i = 1; i <= 3; i++) {
		run(other[1]);
		assert_int_equal(calls, i);
		assert_int_equal(rest_ms, 1000);
		rest_over(rest);
	}
	hostclock_free(h);
	close(timer[1]);
	close(other[0]);
	close(other[1]);
	loop_free(loop);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(a_change_is_told_and_a_flood_once_a_second) };

	return cmocka_run_group_tests_name("hostclock", tests, NULL, NULL);
}
