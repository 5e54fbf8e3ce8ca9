/* greeting.h - the line that a command of line_command() begins with, taken out of its output: the number of its process.
 *
 * What comes before it is the login shell's own, which some have write something whenever they are started; it is left out.
 * When there is no such line within GREETING_MAX bytes all of it is output.
 */
#ifndef LIMA_SSH_GREETING_H
#define LIMA_SSH_GREETING_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/buf.h"

enum { GREETING_MAX = 16 * 1024, GREETING_PID = 11 };

struct greeting {
	bool over;              /* what comes now is output */
	char pid[GREETING_PID]; /* digits, greater than 1; "" when it is not known */
	struct buf held;        /* before it is over: what has come. Afterwards: output to be taken first */
};
#define GREETING_INIT { .held = BUF_INIT(GREETING_MAX) }

/* n more bytes have come, at most GREETING_MAX - held.len. */
void greeting_take(struct greeting *g, const void *p, size_t n);
void greeting_end(struct greeting *g); /* no more will come */

#endif
