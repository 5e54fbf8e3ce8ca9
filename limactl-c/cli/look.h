/* look.h - what there is to say about an instance, whatever state its folder is in. Never hangs, never starts anything. */
#ifndef LIMA_CLI_LOOK_H
#define LIMA_CLI_LOOK_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "limactl-c/plan/plan.h"
#include "limactl-c/store/inst.h"
#include "limactl-c/yaml/ynode.h"

enum { LOOK_ERRORS_MAX = 16 };

struct look {
	struct inst inst;
	enum inst_status status;
	const char *asleep;         /* one that runs: "Paused"; or one that does not: "Suspended", or NULL */
	struct plan plan;           /* empty when there is none */
	const struct ynode *config; /* filled configuration, or NULL; in the caller's pool */
	pid_t host_agent, machine;  /* 0: none */
	bool is_protected;
	char *vm_type;              /* of a configuration that is newer than the plan; NULL: the plan's */
	char *lima_version;         /* that made it; "" when not known */
	char *error[LOOK_ERRORS_MAX]; /* sentences */
	size_t errors;
	int ssh_keys; /* host keys that the guest of a running instance has told; 0 as well when it could not be asked */
	struct ynode *forwards; /* port forwards of one that runs; NULL: none, or not looked at whole */
};

/* whole, when not NULL: also what only look_tree() shows, made in this pool. -1 only when there is no such instance. */
int look_at(const char *name, struct yn_pool *whole, struct look *l, struct err *e);
void look_free(struct look *l);

const char *look_status(const struct look *l);  /* "Running" */
const char *look_host_os(void);   /* "linux", "darwin" */
const char *look_vm_type(const struct look *l); /* "qemu"; "" when not known */

/* Lima's fields of an instance that was looked at whole, by their names in JSON. */
struct ynode *look_tree(const struct look *l, struct yn_pool *p);
/* By the names that --format's templates have for them, sorted; how many. */
size_t look_field_names(const char *const **names);
/* What those templates find where look_tree() leaves a field out or has another name for it. */
struct ynode *look_unset(const struct ynode *tree, struct yn_pool *p);

#endif
