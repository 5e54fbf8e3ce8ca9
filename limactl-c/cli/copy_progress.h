/* copy_progress.h - what people see of a copy: percentages on a terminal, lines with --verbose, and what went wrong. */
#ifndef LIMA_CLI_COPY_PROGRESS_H
#define LIMA_CLI_COPY_PROGRESS_H

#include <stddef.h>

#include "lib/err.h"
#include "lib/filewatch.h"

struct copy_progress {
	bool bar;     /* on a terminal */
	bool verbose; /* a line for each file, and one every tenth of the whole */
	uint64_t total, moved;
	int64_t started, shown;
	unsigned tenth;
	char name[256];
	char *held; /* the last problem, not told yet */
	size_t problems;
};

void copy_progress_begin(struct copy_progress *p, bool bar, bool verbose);
struct file_watch copy_progress_watch(struct copy_progress *p);
/* Tells what was not told yet. rc is what the copy returned, with *e when it is -1. Returns 0 when all went well, else -1 with
 * the one sentence that is still to be said. */
int copy_progress_end(struct copy_progress *p, int rc, struct err *e);

#endif
