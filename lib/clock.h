/* clock.h - the clock of deadlines. */
#ifndef LIMA_CLOCK_H
#define LIMA_CLOCK_H

#include <stdint.h>

int64_t clock_ms(void); /* milliseconds on CLOCK_MONOTONIC */

#endif
