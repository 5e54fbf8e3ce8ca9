/* parts.h - what the files that make a plan share; for plan/ only. */
#ifndef LIMA_PLAN_PARTS_H
#define LIMA_PLAN_PARTS_H

#include "limactl-c/config/config.h"
#include "limactl-c/plan/host.h"
#include "limactl-c/plan/plan.h"

/* A plan being made. */
struct making {
	const struct cfg *c;
	const struct plan_host *h;
	const struct plan_images *images;
	struct plan *p;
};

/* Each fills its members of m->p. */
int plan_make_ports(struct making *m, struct err *e);   /* rule, socket */
int plan_make_disks(struct making *m, struct err *e);   /* extra disks and their settings */
int plan_make_guest(struct making *m, struct err *e);   /* script, setting, file */
int plan_make_machine(struct making *m, struct err *e); /* driver, kernel, disks, QEMU */

/* Appends a zeroed element to a list member. */
#define PLAN_APPEND(list, count) \
	((list) = xrealloc_array((list), (count) + 1, sizeof(*(list))), (list)[count] = (__typeof__(*(list))){ 0 }, \
	 &(list)[(count)++])

#endif
