/* check.h - what the files of rules share. */
#ifndef LIMA_CHECK_H
#define LIMA_CHECK_H

#include "limactl-c/config/config.h"
#include "limactl-c/base/finding.h"

struct check {
	const struct cfg *c;
	const char *name; /* of the file, where no place is known */
	struct findings *f;
};

/* "field `PATH` …" at the place of path, which is freed, so that a call may build it. */
void check_bad(struct check *k, char *path, const char *fmt, ...) ERR_FMT(3, 4);

/* Must be set: silent when a value was given but wrong, which is a finding of its own. path is
 * freed. */
void check_required(struct check *k, const void *value, char *path);

void check_forwards(struct check *k);

#endif
