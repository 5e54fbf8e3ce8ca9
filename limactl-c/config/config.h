/* config.h - what the user asked: one struct, merged and filled; data only. */
#ifndef LIMA_CONFIG_H
#define LIMA_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/buf.h"
#include "lib/err.h"
#include "limactl-c/base/finding.h"
#include "limactl-c/yaml/ynode.h"

struct cfg_file {
	char *location; /* path, URL, "cache:NAME" */
	char *arch, *digest, *cmdline;
};
struct cfg_image {
	char *location, *arch, *digest;
	struct cfg_file kernel, initrd; /* location NULL: none */
};
struct cfg_provision {
	char *mode, *script;
};
struct cfg_port_forward {
	char *proto; /* tcp, udp, any */
	char *guest_ip, *host_ip;
	bool guest_ip_must_be_zero;
	bool ignore, is_static;
	uint32_t guest_port, host_port;
	uint32_t guest_range[2], host_range[2];
	char *guest_socket, *host_socket;
};
struct cfg_env {
	char *key, *value;
};

/* Where a value was given. */
struct cfg_where {
	char *path; /* "portForwards[0].guestPort" */
	char *file;
	unsigned line, column; /* from 1 */
};

/* The version of Lima whose format, folder layout and defaults we follow: what minimumLimaVersion is compared with, and
 * what a new instance's lima-version says. */
#define CFG_LIMA_VERSION "2.2.0"

/* Strings are owned by the struct; NULL = not set until filled. */
struct cfg {
	char *minimum_lima_version;
	char *vm_type, *os, *arch;
	struct cfg_image *image;
	size_t images;
	uint32_t cpus;
	uint64_t memory, disk; /* bytes */
	struct cfg_provision *provision;
	size_t provisions;
	struct cfg_port_forward *forward;
	size_t forwards;
	struct cfg_env *env;
	size_t envs;
	char *message;
	struct cfg_env *cpu_model; /* vmOpts.qemu.cpuType: arch, model */
	size_t cpu_models;
	char *cpu_type; /* the one for this arch, once filled; NULL: the plan chooses */
	struct {
		char *name, *comment, *home, *shell;
		uint32_t uid;
		bool passwordless_sudo;
	} user;
	uint32_t ssh_local_port;
	bool plain;
	struct {
		char *init; /* openrc, lean */
		bool direct_boot;
		char **kernel_args;
		size_t kernel_args_count;
		char *engine_disk; /* cache:NAME or path */
	} guest;
	struct {
		bool init_on_free, tmpfs_var_log;
		uint64_t syslog_ring; /* bytes */
		uint32_t commit;      /* seconds */
		bool cache_trim;
		bool fstrim_boot, fstrim_stop;
		uint64_t docker_log_size; /* bytes a log file */
		uint32_t docker_log_files;
		uint64_t build_cache;                       /* bytes BuildKit keeps */
		bool skip_boot_menu, no_cloud_init_hotplug; /* guests with their own init */
	} tuning;
	struct {
		char *when;                          /* noContainers, noConnections, never */
		uint32_t pause_after, suspend_after; /* seconds, 0 = never */
	} idle;
	struct cfg_where *where; /* in order of path; only what the file sets */
	size_t wheres;
};

/* Facts about the host that defaults depend on. */
struct cfg_host {
	const char *arch, *user, *comment;
	unsigned uid, cpus;
	uint64_t memory;
	bool darwin;
};

/* One of the texts a configuration is made of. text NULL: there is none. */
struct cfg_text {
	const char *name; /* of the file, for messages */
	const char *text;
	size_t len;
};
struct cfg_input {
	struct cfg_text instance;           /* lima.yaml, a template */
	struct cfg_text defaults, override; /* _config/default.yaml, _config/override.yaml */
	const struct cfg_host *host;
	const char *name, *dir; /* of the instance, for {{.Name}} and {{.Dir}} */
	const char *lima_home;
	bool lenient; /* unknown keys are warnings */
	bool strict;  /* templates that cannot be filled are errors */
};

/* TODO(issue 4, in work): replaces cfg_parse/cfg_validate/cfg_load. Parses, merges, fills, checks; every finding of all three texts.
 * False when one is an error, *out is empty then. */
bool cfg_read(const struct cfg_input *in, struct cfg *out, struct findings *f);
/* The filled configuration as a tree: keys in the order of the table, each value with the place it was given at (none: a
 * default). For YAML, JSON, --explain. */
struct ynode *cfg_tree(const struct cfg *c, struct yn_pool *p);
char *cfg_json_schema(void); /* JSON Schema of what a template may hold. malloc'd */

/* Reads YAML text (name is used in messages) and checks every key and value. Every finding goes to
 * findings, one a line as "FILE:LINE:COLUMN: [warning: ]what", in the order of the file; -1 with
 * only their number in e when one of them is an error, *out is empty then. Defaults are not filled
 * in. */
int cfg_parse(const char *name, const char *text, size_t len, struct cfg *out, struct buf *findings,
	      struct err *e);

void cfg_fill(struct cfg *c,
	      const struct cfg_host *h); /* defaults: Lima's choices where the file made none */

/* Rules across fields, on a filled configuration. Findings and e as above. */
int cfg_validate(const struct cfg *c, const char *name, struct buf *findings, struct err *e);

/* The three in one, so that one run shows every finding of the file. */
int cfg_load(const char *name, const char *text, size_t len, const struct cfg_host *h,
	     struct cfg *out, struct buf *findings, struct err *e);

void cfg_free(struct cfg *c); /* *c is empty afterwards */
#define auto_cfg CLEANUP(cfg_free) struct cfg

/* A filled configuration as one line of JSON, which is YAML too. malloc'd. */
char *cfg_dump(const struct cfg *c);

/* Replaces "{{.NAME}}" by the value; what is not among the n variables stays as it stands.
 * malloc'd. */
struct cfg_var {
	const char *name, *value;
};
char *cfg_expand(const char *text, const struct cfg_var *var, size_t n);

/* Sets top-level scalar key to value in YAML text, keeping everything else as it stands. malloc'd.
 */
char *cfg_text_set(const char *text, size_t len, const char *key, const char *value, struct err *e);

#endif
