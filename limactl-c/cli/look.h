/* look.h - what there is to say about an instance, whatever state its folder is in. Never hangs, never starts anything. */
#ifndef LIMA_CLI_LOOK_H
#define LIMA_CLI_LOOK_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "limactl-c/base/jsonx.h"
#include "limactl-c/plan/plan.h"
#include "limactl-c/store/inst.h"

enum { LOOK_ERRORS_MAX = 16 };

struct look {
	struct inst inst;
	enum inst_status status;
	struct plan plan;   /* empty when there is none */
	char *config;       /* filled configuration as JSON, or NULL */
	pid_t host_agent, machine; /* 0: none */
	bool is_protected;
	char *error[LOOK_ERRORS_MAX]; /* sentences */
	size_t errors;
};

/* whole: also what only the JSON shows. -1 only when there is no such instance. */
int look_at(const char *name, bool whole, struct look *l, struct err *e);
void look_free(struct look *l);

const char *look_vm_type(const struct look *l); /* "qemu"; "" when not known */
struct jx *look_json(const struct look *l);     /* Lima's fields; the caller's */

#endif
