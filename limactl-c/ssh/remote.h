/* remote.h - EXEC streams: the records of lib/execproto on one side, a command in the guest on the other.
 *
 * What runs the command is a job: a channel of the SSH server's (remote_channel.c), or for the copying of files a process of
 * ours with a connection of its own (remote_copy.c).
 */
#ifndef LIMA_SSH_REMOTE_H
#define LIMA_SSH_REMOTE_H

#include "lib/execproto.h"
#include "limactl-c/ssh/standin.h"

void remote_open(struct standin *si, struct mux_stream *m, const struct ap_open *o);

struct job;
enum job_state { JOB_STARTING, JOB_RUNS, JOB_ENDED, JOB_FAILED };

/* All are for one that has been started. None blocks. */
struct job_ops {
	enum job_state (*state)(struct job *j);
	ssize_t (*write)(struct job *j, const void *p, size_t n); /* the count, 0: not now, -1: it takes no more */
	void (*end_input)(struct job *j);                         /* at most once, and no write after it */
	/* Of its standard output, or with err its standard error: the count, 0: not now, -1: no more will come. */
	ssize_t (*read)(struct job *j, bool err, void *p, size_t n);
	int (*status)(struct job *j);        /* JOB_ENDED: its exit code, or 128 + signal */
	const char *(*why)(struct job *j);   /* JOB_FAILED: a sentence */
	void (*resize)(struct job *j, uint16_t rows, uint16_t cols); /* may be NULL, as the next */
	void (*signal)(struct job *j, unsigned number);              /* Linux's */
	size_t (*poll)(const struct job *j, struct pollfd fds[WORK_FDS]);
	/* Nobody waits for it any more: called after each wait until it says that it can be dropped. */
	bool (*leave)(struct job *j);
	void (*drop)(struct job *j); /* it is hung up, if it runs, and let go of */
};

/* First in the struct of each kind. */
struct job {
	const struct job_ops *ops;
	struct standin *si;
};

/* start is borrowed for the call. NULL with *e when it cannot be done. */
struct job *remote_channel_start(struct standin *si, const struct ep_start *start, struct err *e);
struct job *remote_copy_start(struct standin *si, const struct ep_start *start, struct err *e);

int remote_signal_number(const char *name); /* "TERM" → 15; 0: it is none that SSH has */

#endif
