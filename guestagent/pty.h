/* pty.h - a terminal for one command. */
#ifndef LIMA_GUESTAGENT_PTY_H
#define LIMA_GUESTAGENT_PTY_H

#include <stdint.h>
#include <sys/types.h>

#include "lib/err.h"

/* Both descriptors are close-on-exec; the master is non-blocking. The terminal belongs to uid. */
int ga_pty_open(int *master, int *slave, uid_t uid, struct err *e);
void ga_pty_resize(int master, uint16_t rows, uint16_t cols); /* the foreground job gets SIGWINCH */
void ga_pty_end_input(int master);          /* what Ctrl-D does, unless the terminal is raw */
pid_t ga_pty_foreground(int master);        /* process group, -1 when there is none */

#endif
