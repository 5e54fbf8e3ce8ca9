/* fake_end.h - what the fake driver must know of processes: the platform's part of fake.c. */
#ifndef LIMA_FAKE_END_H
#define LIMA_FAKE_END_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

bool fake_is_stopped(pid_t pid); /* by SIGSTOP */

/* Names the network namespace of a process; "" when it is our own or unknown. */
void fake_net_of(pid_t pid, char *net, size_t size);
/* Kills every process left in it: a machine that is off runs nothing. */
void fake_end_guest(const char *net);

#endif
