/* tmp_dir.h - a folder of its own for each test, removed afterwards; for cmocka's setup and teardown. */
#ifndef TESTS_TMP_DIR_H
#define TESTS_TMP_DIR_H

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "limactl-c/base/fs.h"
#include "limactl-c/base/mem.h"

static inline int tmp_dir_make(void **state)
{
	char *dir = xstrdup("/tmp/ut.XXXXXX");

	*state = mkdtemp(dir);
	return *state ? 0 : -1;
}

static inline int tmp_dir_remove(void **state)
{
	struct err e = { 0 };
	int rc = fs_remove_tree(*state, &e);

	free(*state);
	return rc;
}

/* The same, and it is the working folder. */
static inline int tmp_dir_enter(void **state)
{
	return tmp_dir_make(state) < 0 ? -1 : chdir(*state);
}

static inline int tmp_dir_leave(void **state)
{
	return chdir("/") < 0 ? -1 : tmp_dir_remove(state);
}

#endif
