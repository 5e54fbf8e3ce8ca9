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
int plan_make_mounts(struct making *m, struct err *e);  /* mount, and its settings */
void plan_make_ssh(struct making *m);                   /* ssh_port, ssh_options, a socket; for plan_make_ports() */
int plan_make_guest(struct making *m, struct err *e);   /* script, setting, file */
int plan_make_machine(struct making *m, struct err *e); /* driver, kernel, disks, QEMU */

/* What differs between guest architectures. CPU models under emulation keep x86-64-v2 and leave out what emulates
 * slowly. */
struct platform {
	const char *arch, *machine, *tcg_cpu, *console;
	const char *tcg_args[2]; /* for the kernel; NULL: none */
	bool bios;            /* else UEFI is the only firmware */
	const char *firmware_packages;
};
int plan_make_boot(struct making *m, const struct platform *pf, struct err *e); /* boot, kernel, firmware, seed */

/* The kernel's command line: boot_args, then what we add, then guest.kernelArgs. A later root= and a console that was
 * named before are not said twice. overlay: our own init is the first program. malloc'd; NULL when it is too long. */
char *plan_cmdline(const struct making *m, const struct platform *pf, bool overlay, struct err *e);

/* Whether we let the guest's programs land at fixed addresses until its seed takes over. */
bool plan_fixes_addresses(const struct making *m);

/* Settings for a guest that has a loader of its own: what that is to tell the kernel (guestagent/grub.h). Only where the
 * template asks for something of the kernel; else the loader is left alone. */
void plan_tell_loader(struct making *m, const struct platform *pf);

/* Whether the words name a root file system, which the guest's own initramfs then mounts. */
bool plan_names_root(const char *args);

/* containerd, a disk for its archive, setting, file, probe; when boot and the other disks are there. */
int plan_make_containerd(struct making *m, struct err *e);
#define PLAN_NEEDS_SYSTEMD "needs a guest with systemd, which one that starts by our initramfs has not: write user: false"

int plan_make_surroundings(struct making *m, struct err *e); /* setting, file: what the guest finds around it */

void plan_make_tasks(struct making *m);                      /* probe, copy */

/* The addresses of the host as the guest sees it, and of the guest: QEMU's for its first network. */
#define PLAN_GATEWAY "10.0.2.2"
#define PLAN_DNS "10.0.2.3" /* its name server */
#define PLAN_ADDRESS "10.0.2.15"

/* The address that a name or address of hostResolver.hosts comes to, borrowed; NULL: only the world's name servers know. */
const char *plan_host_address(const struct cfg *c, const char *gateway_address, const char *name);

enum { PLAN_TAG_MAX = 24 };
void plan_mount_tag(const struct cfg_mount *m, char tag[PLAN_TAG_MAX]); /* Lima's: a hash of both paths */
char *plan_mount_options(const struct cfg *c, const struct cfg_mount *m); /* malloc'd; without ro or rw */

void plan_set(struct plan *p, const char *key, const char *value);
void plan_setf(struct plan *p, const char *value, const char *key, ...) ERR_FMT(3, 4); /* key is a format */

/* The words with between between them, malloc'd; "" when there are none. */
char *plan_join(char *const *word, size_t words, const char *between);
void plan_add_file(struct plan *p, const char *guest_path, char *source, unsigned mode); /* source is taken */

/* A number that stands for a text (FNV-1a). */
uint64_t plan_hash(const char *s);

/* Appends a zeroed element to a list member. */
#define PLAN_APPEND(list, count) \
	((list) = xrealloc_array((list), (count) + 1, sizeof(*(list))), (list)[count] = (__typeof__(*(list))){ 0 }, \
	 &(list)[(count)++])

#endif
