/* clock_sync.h - when the guest asks the host for the time, and when it believes the answer. Pure logic.
 *
 * What the host tells unasked may have waited in a queue, or in a machine that stood still: it is that late by now, or later.
 * So the clock is set forward by it at once (whoever runs next after a sleep sees the right time), never back; and it is a
 * reason to ask. An answer bears the stamp of its question: it is wrong by at most half the time the two took, and the clock is set when it
 * is off by more than that and by more than 100 ms. A program that sets the guest's clock over and over is asked after less
 * and less often. Times: host and own are nanoseconds since 1970, boot is clock_boot_ms().
 */
#ifndef LIMA_CLOCK_SYNC_H
#define LIMA_CLOCK_SYNC_H

#include <stdbool.h>
#include <stdint.h>

struct clock_sync {
	int64_t ask_at;   /* boot, when to ask; 0: there is nothing to ask */
	int64_t asked_at; /* boot, when it was asked last, and the stamp of that question; 0: never */
	int64_t set_at;   /* boot, when the clock was set last */
	int gap;          /* ms between two questions, 0: the least */
	unsigned unsure;  /* answers in a row that took too long to be of use */
	bool asked;       /* that question is under way */
	bool complained;  /* of a time that makes no sense */
};

/* Unasked. What the clock is to be set to, 0: to nothing. */
uint64_t clock_sync_told(struct clock_sync *c, uint64_t host, uint64_t own, int64_t boot);
void clock_sync_changed(struct clock_sync *c, int64_t boot); /* somebody has set the guest's clock */
uint64_t clock_sync_ask(struct clock_sync *c, int64_t boot); /* it is asked: with this stamp */
/* The same. */
uint64_t clock_sync_answered(struct clock_sync *c, uint64_t stamp, uint64_t host, uint64_t own, int64_t boot);

#endif
