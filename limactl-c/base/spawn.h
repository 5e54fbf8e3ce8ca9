/* spawn.h - a child process described by a struct, and a small spawner process that starts them for others.
 *
 * The host agent forks the spawner first of all, so it stays as small as that process was then; the spawner starts QEMU
 * (or the native agent) in a session of its own, so that it outlives the host agent, and reports exits.
 */
#ifndef LIMA_SPAWN_H
#define LIMA_SPAWN_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "lib/err.h"

enum { SPAWN_ARGS_MAX = 256, SPAWN_FDS_MAX = 24 };

/* argv[0] is looked up in PATH unless it has a slash. Descriptors are borrowed; the child gets fd[i] as number 3 + i,
 * and nothing else but 0 (null), 1 and 2 (the log file, appended; the parent's when log is NULL). */
struct spawn {
	const char *const *argv; /* NULL-terminated */
	const char *const *env;  /* NULL-terminated NAME=VALUE added to the parent's; may be NULL */
	int fd[SPAWN_FDS_MAX];
	size_t fds;
	const char *log;   /* stdout and stderr are appended to this file; may be NULL */
	int out, err;      /* spawn_start only: descriptors for stdout and stderr, instead of the above; 0 = not given */
	bool new_session;  /* setsid: survives the terminal and the parent */
	bool new_net;      /* Linux, root: own network namespace with lo up; ignored where not permitted */
	const char *readonly; /* Linux, root: a folder that the program, and whatever it starts, sees read-only with all that is
			       * mounted in it; it is not started where that cannot be had. May be NULL */
	bool for_next;     /* spawner_start only: what the next one without this is started for. Should the caller end before that is
			    * started, this gets SIGTERM */
	unsigned seconds;  /* spawn_run only: killed when it takes longer, ERR_TIMEOUT; 0 = no limit */
};

/* The program that argv[0] means, malloc'd; ERR_NOTFOUND when it is not in PATH. What has a slash is not looked at. */
char *spawn_find(const char *name, struct err *e);

/* Starts it; returns the pid. An exec failure is reported here (through a close-on-exec pipe), not as an exit. */
pid_t spawn_start(const struct spawn *s, struct err *e);

/* Waits for the end of a child of this process. Returns the exit code, 128 + signal, or -1 with errno set. */
int spawn_wait(pid_t pid);

/* Runs it to its end, stdin null, s->log not used. Returns the exit code, 128 + signal, or -1 when it could not be run.
 * Whenever that is not 0, err->msg has a sentence with the last bytes of its stderr. out, when not NULL, gets its
 * standard output (as far as its max allows). To let a program's stderr through, use spawn_start and spawn_wait. */
struct buf;
int spawn_run(const struct spawn *s, struct buf *out, struct err *e);

/* The spawner process. */
struct spawner;
struct spawner *spawner_new(struct err *e); /* forks it; call before threads and event loops */
void spawner_free(struct spawner *s);       /* the spawner ends; its children go on */
int spawner_fd(const struct spawner *s);    /* readable when spawner_next has something */
/* As spawn_start, in the spawner; a log must be set for the child's output to go anywhere but the spawner's stderr.
 * Blocks for the short time the fork takes. */
pid_t spawner_start(struct spawner *s, const struct spawn *what, struct err *e);
/* The same with one end of a socket in addition, as its first descriptor. Returns the other end, -1: not started. */
int spawner_connect(struct spawner *s, const struct spawn *what, pid_t *pid, struct err *e);
/* 1 and an exit (wait status), 0 when none is waiting, -1 when the spawner died. Never blocks. */
int spawner_next(struct spawner *s, pid_t *pid, int *status);

#endif
