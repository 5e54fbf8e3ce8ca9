/* exec.h - a command in the guest with our standard streams: lib/execproto over a connected socket. */
#ifndef LIMA_CLI_EXEC_H
#define LIMA_CLI_EXEC_H

#include "lib/buf.h"
#include "lib/err.h"
#include "lib/execproto.h"

enum { EXEC_LOST = 255 }; /* exit code when the connection broke, as ssh's */

/* Runs *start over fd (blocking); early are bytes that came from it already. Returns the command's exit code, or -1.
 * Signals that would end this process are forwarded while it runs, unless they are ignored; the terminal is raw meanwhile when
 * start->tty (terminal.h). */
int exec_run(int fd, struct buf *early, const struct ep_start *start, struct err *e);

#endif
