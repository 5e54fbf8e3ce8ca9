/* follow.h - the host agent's log shown while we wait for it. */
#ifndef LIMA_CLI_FOLLOW_H
#define LIMA_CLI_FOLLOW_H

#include "lib/buf.h"

enum { FOLLOW_LINE_MAX = 1 << 16, FOLLOW_MS = 250 /* how often to look: a file cannot be waited for */ };

struct follow {
	int fd;          /* -1: nothing is followed */
	struct buf line; /* what has arrived of the next line */
};
#define FOLLOW_INIT { -1, BUF_INIT(FOLLOW_LINE_MAX) }

void follow_open(struct follow *f, const char *path); /* from the present end on */
void follow_show(struct follow *f);                   /* says the lines that have been added */
void follow_close(struct follow *f);

#endif
