/* clock.h - the clocks of deadlines and of how long ago something was, and the one that people set. */
#ifndef LIMA_CLOCK_H
#define LIMA_CLOCK_H

#include <stdint.h>

int64_t clock_ms(void);      /* milliseconds on CLOCK_MONOTONIC */
int64_t clock_boot_ms(void); /* milliseconds on a clock that goes on while the machine sleeps, where there is one */
uint64_t clock_real_ns(void); /* nanoseconds since 1970 on CLOCK_REALTIME */

/* A descriptor that is readable once somebody has set CLOCK_REALTIME; its read() fails then, and it waits for the next time.
 * -1: this system tells nobody. */
int clock_changes_open(void);

#endif
