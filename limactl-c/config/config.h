/* config.h - what the user asked: one struct, merged and filled; data only. */
#ifndef LIMA_CONFIG_H
#define LIMA_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/buf.h"
#include "lib/err.h"

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
	bool guest_ip_must_be_zero, guest_ip_must_be_zero_set;
	bool ignore, is_static, reverse;
	uint32_t guest_port, host_port;
	uint32_t guest_range[2], host_range[2];
	char *guest_socket, *host_socket;
};
struct cfg_env {
	char *key, *value;
};

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
	char *cpu_type; /* vmOpts.qemu.cpuType for this arch */
	struct {
		char *name, *comment, *home, *shell;
		uint32_t uid;
		bool uid_set, passwordless_sudo, passwordless_sudo_set;
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
		uint64_t build_cache;     /* bytes BuildKit keeps */
	} tuning;
	struct {
		char *when; /* noContainers, noConnections, never */
		uint32_t pause_after, suspend_after; /* seconds */
	} idle;
};

/* Facts about the host that defaults depend on. */
struct cfg_host {
	const char *arch, *user, *comment;
	unsigned uid, cpus;
	uint64_t memory;
	bool darwin;
};

/* Reads YAML text (name is used in messages), checks every key and value, collects every finding with file, line and
 * column into findings (one a line) and fails when there was an error. Defaults are not filled in. */
int cfg_parse(const char *name, const char *text, size_t len, struct cfg *out, struct buf *findings, struct err *e);
void cfg_fill(struct cfg *c, const struct cfg_host *h);  /* defaults */
int cfg_validate(const struct cfg *c, const char *name, struct buf *findings, struct err *e); /* rules across fields */
void cfg_free(struct cfg *c);

/* Sets top-level scalar key to value in YAML text, keeping everything else as it stands. malloc'd. */
char *cfg_text_set(const char *text, size_t len, const char *key, const char *value, struct err *e);

/* Finds a template: file path, "template:NAME" (search path), "-" (stdin). Appends its text; *name gets the instance
 * name it suggests (malloc'd). */
int cfg_template_read(const char *locator, struct buf *text, char **name, struct err *e);

#endif
