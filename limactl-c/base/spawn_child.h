/* spawn_child.h - the part of a spawn that runs in the child, between fork and exec.
 *
 * For who forks itself. Only async-signal-safe calls: the parent may have threads.
 */
#ifndef LIMA_SPAWN_CHILD_H
#define LIMA_SPAWN_CHILD_H

#include "limactl-c/base/spawn.h"

struct spawn_child {
	const struct spawn *spawn;
	const char *program;     /* a path */
	const char *const *env;
	int std[3];              /* become 0, 1 and 2 */
	int report;              /* close-on-exec pipe: gets a struct spawn_failure, or end of file at exec */
};

struct spawn_failure {
	int errnum;
	char what[28];
};

_Noreturn void spawn_child(const struct spawn_child *c);

/* In a child that goes on without exec: keeps 0, 1, 2 and these two, as close-on-exec 3 and 4. -1 with errno set. */
int spawn_keep_two(int *a, int *b);

#endif
