/* line.h - command lines for the guest's SSH server, which gives each to the user's login shell, whatever that is. */
#ifndef LIMA_SSH_LINE_H
#define LIMA_SSH_LINE_H

#include "lib/buf.h"
#include "lib/execproto.h"

enum { LINE_MAX_BYTES = 8 * EP_START_MAX };

/* What goes before the output of a command, with its process number behind it and the end of the line (greeting.h). */
#define LINE_MARK "limactl-c: process "

/* All return -1 when out is full. */

/* The command of start, as the guest agent would run it. It is the leader of its process group. */
int line_command(struct buf *out, const struct ep_start *start);
/* Signal number (Linux's) for the group of process pid, with a terminal for the one in its foreground. */
int line_signal(struct buf *out, const char *pid, unsigned number, bool tty, bool as_root);
/* SIGHUP for the group of process pid, and after two seconds SIGKILL for its leader. */
int line_hang_up(struct buf *out, const char *pid, bool as_root);
/* Standard input and output become a connection to the socket of that path. */
int line_connect(struct buf *out, const char *path);
/* Ends once the scripts of the seed volume have been run at this boot. */
int line_await_boot(struct buf *out);

#endif
