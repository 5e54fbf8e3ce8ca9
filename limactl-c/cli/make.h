/* make.h - making instances from templates, and bringing an existing one's plan up to date. */
#ifndef LIMA_CLI_MAKE_H
#define LIMA_CLI_MAKE_H

#include <stdbool.h>

#include "lib/err.h"
#include "limactl-c/cli/setup.h"
#include "limactl-c/store/inst.h"

/* Makes an instance that could be started. What can be found out before is found out before the folder is made; when
 * something fails after, the folder is removed. With existing_ok an instance of that name made from the very same text
 * is taken as it is (*existed). */
int make_instance(const char *locator, const struct edit *edit, bool existing_ok, struct inst *out, bool *existed,
		  struct err *e);

/* Whether its lima.yaml would do for another start; touches nothing. */
int make_check(const struct inst *i, struct err *e);

/* Before each start of a stopped instance: lima.yaml may have been edited, the host may have changed. edit may be NULL. */
int make_ready(const struct inst *i, const struct edit *edit, struct err *e);

#endif
