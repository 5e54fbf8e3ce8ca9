/* seed_parts.h - what the files that make a seed share; for plan/ only. */
#ifndef LIMA_PLAN_SEED_PARTS_H
#define LIMA_PLAN_SEED_PARTS_H

#include "lib/buf.h"
#include "limactl-c/plan/seed.h"

/* Each of these may stand in a line of its own: -1 when value has a control character or is not UTF-8. what: its name in
 * the message. */
int seed_check_line(const char *what, const char *value, struct err *e);

/* s as a double-quoted scalar; -1 when b is full. */
int seed_yaml(struct buf *b, const char *s);

/* Whether a guest mounts this template's mounts by itself (9p, virtiofs), and how. */
bool seed_guest_mounts(const struct cfg *c);
char *seed_mount_options(const struct cfg *c, const struct cfg_mount *m); /* malloc'd */
/* What cloud-init and lima-init would put into fstab or a script as it is. */
bool seed_mount_is_odd(const struct cfg_mount *m);

/* Texts of the files; each appends to b. */
int seed_user_data(const struct seed_input *in, struct buf *b, struct err *e); /* without bootcmd */
int seed_boot_commands(struct buf *b);                                         /* bootcmd */
int seed_network(const struct seed_input *in, struct buf *b, struct err *e);
int seed_meta_data(const struct seed_input *in, const char *iid, struct buf *b, struct err *e);
int seed_lima_env(const struct seed_input *in, const char *iid, struct buf *b, struct err *e);
int seed_param_env(const struct seed_input *in, struct buf *b, struct err *e);
int seed_etc_environment(const struct seed_input *in, struct buf *b, struct err *e);
int seed_mounts(const struct seed_input *in, struct buf *b, struct err *e);

#endif
