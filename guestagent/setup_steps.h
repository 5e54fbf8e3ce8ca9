/* setup_steps.h - the steps of `agent setup`, each in the file of its subject.
 *
 * A step that fails says why in *e; setup notes the sentence as a warning and goes on: a guest with a defect that
 * can be looked into is worth more than one that does not come up.
 */
#ifndef LIMA_GUESTAGENT_SETUP_STEPS_H
#define LIMA_GUESTAGENT_SETUP_STEPS_H

#include <stdint.h>

#include "guestagent/setup_util.h"

#define ROOT_DISK "/dev/vda" /* as provision/lean/init mounted it */

bool setup_is_cloud(const struct settings *s); /* setting init=cloud: it has an init of its own, and the seed */

int setup_mounts(const struct setup *su, struct err *e);      /* setup_mount.c */
int setup_boot_id(const struct setup *su, struct err *e);
int setup_clock(const struct setup *su, struct err *e);
int setup_grow_root(const struct setup *su, struct err *e);   /* setup_disk.c: the file system follows the disk */
bool disk_has_outgrown(const char *device, uint64_t by);      /* its ext file system is so many bytes smaller than it is */
int setup_disks(const struct setup *su, struct err *e);       /* setup_disks.c: extra disks */
int setup_quiet(const struct setup *su, struct err *e); /* timers of the kernel that nobody needs */
int setup_identity(const struct setup *su, struct err *e);    /* setup_identity.c: a clone's own */
int setup_hostname(const struct setup *su, struct err *e);    /* setup_host.c */
int setup_environment(const struct setup *su, struct err *e);
int setup_user(const struct setup *su, struct err *e);        /* setup_user.c */
int setup_shares(const struct setup *su, struct err *e);      /* setup_shares.c: folders of the host */
int setup_share(const struct setup *su, size_t i, struct err *e); /* the one of that number, which is there, whose modules are loaded */
int setup_ssh_keys(const struct setup *su, struct err *e);    /* setup_ssh.c: who may log in by ssh */
int net_up(const struct setup *su, struct err *e);            /* net.c */
int net_up_if_down(const struct setup *su, struct err *e);    /* only when the card has no address */
int net_dns(const struct setup *su, struct err *e);           /* /etc/resolv.conf */
int net_dns_if_given(const struct setup *su, struct err *e);
int net_dns_clients(const struct setup *su, struct err *e);   /* net.dns for the guest's own DHCP clients */
int setup_certificates(const struct setup *su, struct err *e); /* setup_ca.c */
int setup_timezone(const struct setup *su, struct err *e);    /* setup_zone.c */
int setup_cron(const struct setup *su, struct err *e);        /* setup_cron.c: keeps crond when it has something to do */
bool setup_wants_cron(const struct setup *su);
int engine_link(const struct setup *su, struct err *e);       /* engine.c */
int engine_configure(const struct setup *su, struct err *e);  /* tuning.c: files our containerd and dockerd are started with */
int tuning_apply(const struct setup *su, struct err *e);      /* tuning.c */

/* Loads the modules Docker's network and storage need, in a child nobody waits for. */
int engine_modules(const struct setup *su, struct err *e);

#endif
