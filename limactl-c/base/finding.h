/* finding.h - what is wrong with a configuration: collected, put in the order of the file, then
 * written. */
#ifndef LIMA_FINDING_H
#define LIMA_FINDING_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

#include "lib/buf.h"
#include "lib/err.h"

enum { FINDINGS_MAX = 100 };

/* A place in a file. line 0: the file as a whole. */
struct place {
	const char *file; /* NULL: nowhere in particular */
	unsigned line, column; /* from 1 */
};

struct finding {
	struct place at; /* file is owned */
	bool warning;
	char *path; /* of the value: "portForwards[0].guestPort"; NULL: none */
	char *text; /* what is wrong; what is allowed; did you mean … */
};
struct findings {
	struct finding item[FINDINGS_MAX];
	size_t count;
	size_t errors; /* those not kept included */
	size_t dropped;
};

void finding_error(struct findings *f, struct place at, const char *path, const char *fmt, ...) ERR_FMT(4, 5);
void finding_warning(struct findings *f, struct place at, const char *path, const char *fmt, ...) ERR_FMT(4, 5);
/* Either, for functions that take such arguments themselves. */
void finding_add(struct findings *f, struct place at, const char *path, bool warning, const char *fmt, va_list ap) ERR_FMT(5, 0);

void findings_sort(struct findings *f); /* by file, line and column; those of one place keep their order */
/* "FILE:LINE:COLUMN: PATH: TEXT" without what is not known. malloc'd. */
char *finding_line(const struct finding *one);
/* 0 when there is no error; else -1 with "NAME: 3 errors" in e. */
int findings_result(const struct findings *f, const char *name, struct err *e);
void findings_fini(struct findings *f);

#endif
