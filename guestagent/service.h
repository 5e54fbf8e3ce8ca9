/* service.h - what others know of the programs kept alive beside the daemon. */
#ifndef LIMA_GUESTAGENT_SERVICE_H
#define LIMA_GUESTAGENT_SERVICE_H

#include <sys/types.h>

/* The process id noted when NAME last started, 0 when there is none. It may have ended since. */
pid_t service_pid(const char *name);

/* Seconds to wait before the next start after so many quick deaths in a row: 0, 1, 2, 4 … 60. */
unsigned service_pause(unsigned failures);

/* For a program that init starts again at once: notes its start, after a pause when its last life was a short one. */
void service_hold_back(const char *name);
void service_settled(const char *name); /* it works: its end, whenever it comes, is no failure to start */

#endif
