/* copy_run.h - one stretch of a copy: things of one place to the target. */
#ifndef LIMA_CLI_COPY_RUN_H
#define LIMA_CLI_COPY_RUN_H

#include "lib/filewatch.h"
#include "limactl-c/store/inst.h"

/* A path, and the instance it is in; none: on the host. */
struct copy_place {
	struct inst inst; /* name NULL: none */
	const char *path;
};

struct copy_run {
	const struct file_watch *watch;
	bool recursive, total; /* total: somebody wants to see percentages */
	bool folder;           /* the target has to be a folder */
};

enum { COPY_PATHS_MAX = 200 }; /* in one stretch; so many fit a START record (lib/execproto.h) when they are not too long */

/* All sources are in one place, and not both ends on the host. 0: what could not be copied was told to the watch; -1: the
 * copy ended early. */
int copy_run(const struct copy_run *c, const struct copy_place *source, size_t sources, const struct copy_place *target,
	     struct err *e);

#endif
