/* edit_flags.h - the flags that change a template: each is a row of one table and an expression on the YAML. */
#ifndef LIMA_CLI_EDIT_FLAGS_H
#define LIMA_CLI_EDIT_FLAGS_H

#include <stdbool.h>

#include "lib/err.h"
#include "limactl-c/cli/opts.h"
#include "limactl-c/yaml/ynode.h"

/* What the rows were given; zero: not given. Texts point into argv. */
struct edit {
	unsigned cpus;
	const char *memory, *disk; /* GiB */
	const char *arch, *arch_variant, *audio_device, *audio_interface, *containerd, *idle, *image_variant, *mount_type, *shell,
		*ssh_port, *vm_type;
	bool mount_none;
	enum opt_tristate mount_inotify, mount_writable, nested_virt, plain, rosetta, video;
	struct opt_list dns, mount, mount_only, network, param, port_forward, set;
};

extern const struct opt edit_opts[]; /* in the order they are carried out */

/* A tree that is being changed by one flag after the other. */
struct edit_run {
	struct yn_pool *pool;
	struct ynode *root;
	const struct edit *edit;
};

/* What a row means (struct opt.rule). */
struct edit_rule {
	const char *path; /* ".cpus": the value is assigned to it; NULL: run does the work */
	int (*run)(struct edit_run *r, struct err *e);
	bool new_only; /* an instance that is there has its disk made for it */
};

bool edit_given(const struct edit *edit);

/* Carries out what was given on *root, which may be replaced. is_new: a template, or an instance that is being
 * made. Each flag either changes the tree, or the tree says already what the flag asks for, or it is an error that
 * names the flag. */
int edit_apply(struct yn_pool *p, const struct edit *edit, bool is_new, struct ynode **root, struct err *e);

/* Evaluates an expression, formatted as printf does, on r->root. Strings must have gone through yq_quote. */
int edit_eval(struct edit_run *r, struct err *e, const char *fmt, ...) ERR_FMT(3, 4);

/* Of rows that are more than one assignment. */
int edit_run_dns(struct edit_run *r, struct err *e);
int edit_run_mount(struct edit_run *r, struct err *e);
int edit_run_mount_only(struct edit_run *r, struct err *e);
int edit_run_mount_none(struct edit_run *r, struct err *e);
int edit_run_mount_writable(struct edit_run *r, struct err *e);
int edit_run_network(struct edit_run *r, struct err *e);
int edit_run_set(struct edit_run *r, struct err *e);
int edit_run_param(struct edit_run *r, struct err *e);
int edit_run_port_forward(struct edit_run *r, struct err *e);
int edit_run_image_variant(struct edit_run *r, struct err *e);
int edit_run_arch_variant(struct edit_run *r, struct err *e);

#endif
