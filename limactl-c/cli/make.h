/* make.h - making instances from templates, and bringing an existing one's plan up to date. */
#ifndef LIMA_CLI_MAKE_H
#define LIMA_CLI_MAKE_H

#include <stdbool.h>

#include "lib/err.h"
#include "limactl-c/cli/setup.h"
#include "limactl-c/store/inst.h"

/* What a template's instance is made with. */
struct make {
	const char *locator;
	const char *name; /* NULL: the one the locator suggests */
	struct setup_rules rules;
	const struct edit *edit;
	bool existing_ok; /* one of that name, made from the very same template with the same flags, is taken as it is */
};

/* Makes an instance that could be started. What can be found out before is found out before the folder is made; when
 * something fails after, the folder is removed. *existed: nothing was made. */
int make_instance(const struct make *m, struct inst *out, bool *existed, struct err *e);

/* Whether s's text would do for i: checked, possible here, its disk no smaller than it is. Findings are said. */
int make_check(const struct inst *i, struct setup *s, struct err *e);
/* Whether its lima.yaml, changed by edit, would do for another start; touches nothing. */
int make_check_edit(const struct inst *i, const struct edit *edit, const struct setup_rules *rules, struct err *e);

/* Before each start of a stopped instance: lima.yaml is changed by edit (may be NULL) and the plan made anew, for
 * lima.yaml may have been edited, the host may have changed. */
int make_ready(const struct inst *i, const struct edit *edit, const struct setup_rules *rules, struct err *e);

/* The plan of a stopped instance, which the caller frees. One that is another's, since a clone or rename was interrupted, is made
 * anew. */
int make_load(const struct inst *i, struct plan *out, struct err *e);

#endif
