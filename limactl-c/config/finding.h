/* finding.h - what is wrong with a configuration: collected, put in the order of the file, then
 * written. */
#ifndef LIMA_FINDING_H
#define LIMA_FINDING_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/buf.h"
#include "lib/err.h"

enum { FINDINGS_MAX = 100 };

/* A place in a file. line 0: the file as a whole. */
struct place {
	const char *file;      /* borrowed; NULL: nowhere in particular */
	unsigned line, column; /* from 1 */
};

struct finding {
	struct place at;
	bool warning;
	char *text;
};
struct findings {
	struct finding item[FINDINGS_MAX];
	size_t count;
	size_t errors; /* those not kept included */
	size_t dropped;
};

void finding_error(struct findings *f, struct place at, const char *fmt, ...) ERR_FMT(3, 4);
void finding_warning(struct findings *f, struct place at, const char *fmt, ...) ERR_FMT(3, 4);

/* Appends "FILE:LINE:COLUMN: [warning: ]TEXT" lines to out and frees what f holds. 0 when there was
 * no error; else -1 with "NAME: 3 errors" in e. */
int findings_write(struct findings *f, const char *name, struct buf *out, struct err *e);
void findings_fini(struct findings *f);

#endif
