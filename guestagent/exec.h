/* exec.h - commands for the host: lib/execproto records on a stream, a process group behind it.
 *
 * EXIT is sent when the command has ended and its output was read to the end. A process it left in the background
 * may keep the output open: then what it had written until the command ended is sent, and no more.
 * The stream's end or reset before that is a hangup: SIGHUP to the group, SIGKILL two seconds later.
 */
#ifndef LIMA_GUESTAGENT_EXEC_H
#define LIMA_GUESTAGENT_EXEC_H

#include "guestagent/session.h"
#include "lib/agentproto.h"

enum { GA_JOBS_MAX = 1024 };

/* Takes stream m, or resets it (LIMIT). */
void ga_exec_open(struct ga *ga, struct mux_stream *m, const struct ap_open *o);

#endif
