/* launch.h - starting and stopping the host agent of an instance, waiting with a deadline. */
#ifndef LIMA_CLI_LAUNCH_H
#define LIMA_CLI_LAUNCH_H

#include <stdbool.h>

#include "lib/err.h"
#include "limactl-c/store/inst.h"

enum { LAUNCH_TIMEOUT = 600 }; /* seconds to READY when nothing else is said */

/* Starts the host agent and waits until the instance is running, timeout seconds at most. Before a failure is returned
 * host agent and machine are stopped, except when the instance runs but is degraded. foreground: stays until the host
 * agent ends, which the terminal's Ctrl-C makes it do. */
int launch(const struct inst *i, unsigned timeout, bool foreground, struct err *e);

/* As inst_status(), but a host agent that holds its lock and does not answer is given a few seconds: it is on its way up,
 * or was killed and is not quite gone. *answers: one is there and does. */
enum inst_status launch_status(const struct inst *i, bool *answers);

/* Stops it: the machine by its power button, or at once (force). Says so and succeeds when it is not running. */
int launch_stop(const struct inst *i, bool force, struct err *e);
int launch_suspend(const struct inst *i, struct err *e); /* one that runs: its memory is kept for the next start */

#endif
