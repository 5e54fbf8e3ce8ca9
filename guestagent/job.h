/* job.h - the process behind an exec stream: how it is started. */
#ifndef LIMA_GUESTAGENT_JOB_H
#define LIMA_GUESTAGENT_JOB_H

#include <stdbool.h>
#include <sys/types.h>

#include "guestagent/session.h"
#include "lib/execproto.h"

/* Our ends of its descriptors: non-blocking, close-on-exec, the caller's. With a terminal in and out are the same
 * terminal, opened twice, and err is -1. */
struct ga_job_fds {
	int in, out, err;
};

/* Starts s as the instance's user (or root) in a session of its own. Returns its pid, -1 with e filled in. */
pid_t ga_job_start(struct ga *ga, const struct ep_start *s, struct ga_job_fds *fds, struct err *e);

#endif
