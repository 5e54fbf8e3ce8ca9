#include "lib/clock.h"

#include <time.h>
#ifdef __linux__
#include <sys/timerfd.h>
#endif

#include "lib/cleanup.h"

#ifndef CLOCK_BOOTTIME
#define CLOCK_BOOTTIME CLOCK_MONOTONIC /* which goes on in sleep on macOS */
#endif

static int64_t read_ms(clockid_t id)
{
	struct timespec t;

	clock_gettime(id, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

int64_t clock_ms(void)
{
	return read_ms(CLOCK_MONOTONIC);
}

int64_t clock_boot_ms(void)
{
	return read_ms(CLOCK_BOOTTIME);
}

uint64_t clock_real_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

#ifdef __linux__
enum { NEVER = 0x7fffffff }; /* seconds after now: the timer is there for being cancelled */

int clock_changes_open(void)
{
	struct itimerspec never = { .it_value = { .tv_sec = time(NULL) + NEVER } };
	auto_close int fd = timerfd_create(CLOCK_REALTIME, TFD_CLOEXEC | TFD_NONBLOCK);

	if (fd < 0 || timerfd_settime(fd, TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET, &never, NULL) < 0)
		return -1;
	return steal_fd(&fd);
}
#else
int clock_changes_open(void)
{
	return -1;
}
#endif
