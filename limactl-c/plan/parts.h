/* parts.h - what the files that make a plan share; for plan/ only. */
#ifndef LIMA_PLAN_PARTS_H
#define LIMA_PLAN_PARTS_H

#include "limactl-c/config/config.h"
#include "limactl-c/plan/host.h"
#include "limactl-c/plan/plan.h"

enum { MAKING_FIELDS = 16 };

/* A plan being made. */
struct making {
	const struct cfg *c;
	const struct plan_host *h;
	const struct plan_images *images;
	struct plan *p;
	/* What {{.Field}} stands for on the host's side (Dir, Home of the host's user) and the guest's. */
	struct cfg_var host_field[MAKING_FIELDS], guest_field[MAKING_FIELDS];
	size_t host_fields, guest_fields;
	char uid[16], host_uid[16];
	char *guest_home;
};

char *making_host_text(const struct making *m, const char *text);
char *making_guest_text(const struct making *m, const char *text);

/* Each fills its members of m->p. */
int plan_make_ports(struct making *m, struct err *e);   /* rule, socket */
int plan_make_guest(struct making *m, struct err *e);   /* script, setting, file */
int plan_make_machine(struct making *m, struct err *e); /* driver, kernel, disks, QEMU */

/* Appends a zeroed element to a list member. */
#define PLAN_APPEND(list, count) \
	((list) = xrealloc_array((list), (count) + 1, sizeof(*(list))), (list)[count] = (__typeof__(*(list))){ 0 }, \
	 &(list)[(count)++])

#endif
