/* common.h - what drivers share: events waiting to be handed out, processes and their sockets. */
#ifndef LIMA_DRIVER_COMMON_H
#define LIMA_DRIVER_COMMON_H

#include "limactl-c/driver/driver.h"

enum { VM_EVENTS_MAX = 8 };

/* A queue that drops nothing in practice: one operation is under way at a time and each event is handed out at once. */
struct vm_events {
	struct vm_event item[VM_EVENTS_MAX];
	unsigned first, count;
};

void vm_events_put(struct vm_events *q, enum vm_event_type type, const struct err *error); /* error may be NULL */
bool vm_events_get(struct vm_events *q, struct vm_event *out); /* VM_EV_NONE and false when there is none */

/* A descriptor of the process that is readable when it has ended; -1 where there is no such thing or no process. */
int vm_pidfd(pid_t pid);
void vm_signal(int pidfd, pid_t pid, int sig); /* through pidfd when there is one: never a stranger */

/* The memory of that many bytes, made by memfd_create() and sealed, that a process has open: a descriptor, or -1. */
int vm_memory_of(pid_t pid, uint64_t size);

pid_t vm_peer(int fd); /* the process that listens at the other end of a unix socket; -1 when it cannot be told */

void vm_args_free(char **argv); /* a program's arguments, NULL-terminated, each malloc'd; NULL is allowed */

/* Connects to a unix socket without ever waiting: a queue that is full is an error. Non-blocking descriptor. */
int vm_connect(const char *path, struct err *e);

/* What a wait status says about the end of program, in words: "qemu was killed by signal 9". */
void vm_say_exit(struct err *e, const char *program, bool known, int status);

#endif
