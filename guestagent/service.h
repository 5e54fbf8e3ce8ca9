/* service.h - the programs that init keeps alive beside the daemon, and how they fare (service_life.c). */
#ifndef LIMA_GUESTAGENT_SERVICE_H
#define LIMA_GUESTAGENT_SERVICE_H

#include <stdbool.h>
#include <sys/types.h>

#include "guestagent/setup_util.h"

/* The process id noted when NAME last started, 0 when there is none. It may have ended since. */
pid_t service_pid(const char *name);
void service_note_pid(const char *name); /* NAME is going to be this process */

/* Whether a program that did not keep running does now: seconds until it may count as that, 0 when it does, -1 when it is
 * none of ours or is not started any more. */
int service_settles_in(const char *name);

bool service_is(pid_t pid, const char *name); /* the process noted may be long gone and its number another's */

/* Seconds to wait before the next start after so many quick deaths in a row: 0, 1, 2, 4 … 60. */
unsigned service_pause(unsigned failures);

/* For a program that init starts again at once: notes its start, after a pause when its last life was a short one. */
void service_hold_back(const char *name);
/* Before that: one that ended too soon again and again is told to the host, with the last words of the log. */
void service_tell_trouble(const struct setup *su, const char *name);
void service_settled(const char *name); /* it works: its end, whenever it comes, is no failure to start */

#endif
