/* nested.h - folders shared with a guest that lie in others the guest may write. It can put a link in the place of such a folder,
 * and by its path this host would then be led anywhere. */
#ifndef LIMA_PLAN_NESTED_H
#define LIMA_PLAN_NESTED_H

#include "lib/err.h"
#include "limactl-c/plan/plan.h"

/* The outermost writable folder that m's lies in, as *rest says below it; NULL: there is none. The result, which is the caller's,
 * is a path no guest can change the meaning of. *rest is borrowed from m. */
char *nested_in(const struct plan *p, const struct plan_mount *m, const char **rest);

/* -1 when m's folder, or what is there of the way to it, has been led out of the one it lies in. */
int nested_check(const struct plan *p, const struct plan_mount *m, struct err *e);

#endif
