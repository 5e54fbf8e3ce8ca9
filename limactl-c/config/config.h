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

/* A value that may be left open. */
enum cfg_tri { CFG_UNSET, CFG_FALSE, CFG_TRUE };

/* Strings are owned by the struct they are in; NULL = not set. */
struct cfg_locator {
	char *url, *digest;
};
struct cfg_file {
	char *location; /* path, URL, "cache:NAME" */
	char *arch, *digest;
	char *cmdline; /* kernels only */
	char *vm_type; /* firmware only */
};
struct cfg_image {
	char *location, *arch, *digest;
	struct cfg_file kernel, initrd; /* location NULL: none */
	char *variant, *arch_variant;
};
struct cfg_disk {
	char *name;
	enum cfg_tri format; /* unset: the guest formats it when it is new */
	char *fs_type;
	char **fs_arg;
	size_t fs_args;
};
struct cfg_mount {
	char *location, *mount_point;
	bool writable;
	struct {
		bool cache, follow_symlinks;
		char *sftp_driver; /* "": the one that is there */
	} sshfs;
	struct {
		char *security_model, *protocol_version, *cache;
		uint64_t msize; /* bytes */
	} ninep;
	uint32_t virtiofs_queue_size; /* 0: not set */
};
struct cfg_provision {
	char *mode, *script;
	struct cfg_locator file;
	enum cfg_tri skip_default_dependency_resolution;
	char *playbook;
	char *content;
	enum cfg_tri overwrite;
	char *owner, *path, *permissions;
	char *expression, *format;
};
struct cfg_probe {
	char *mode, *description, *script, *hint;
	struct cfg_locator file;
};
struct cfg_port_forward {
	char *proto; /* tcp, udp, any */
	char *guest_ip, *host_ip;
	bool guest_ip_must_be_zero;
	bool reverse, ignore, is_static;
	uint32_t guest_port, host_port;
	uint32_t guest_range[2], host_range[2];
	char *guest_socket, *host_socket;
	char *socket_mode, *socket_group; /* of the one that is listened on */
};
struct cfg_copy_to_host {
	char *guest, *host;
	bool skip_if_missing, delete_on_stop;
};
struct cfg_network {
	char *lima, *socket;
	enum cfg_tri vz_nat;
	char *mac_address, *interface;
	uint32_t metric;
};
struct cfg_env {
	char *key, *value;
};

/* The version of Lima whose format, folder layout and defaults we follow: what minimumLimaVersion is compared with, and
 * what a new instance's lima-version says. */
#define CFG_LIMA_VERSION "2.2.0"

struct cfg {
	struct cfg_locator *base;
	size_t bases;
	char *minimum_lima_version;
	char *vm_type, *os, *arch;
	char *qemu_minimum_version;
	struct cfg_env *cpu_model; /* vmOpts.qemu.cpuType: arch, model */
	size_t cpu_models;
	char *cpu_type; /* the one for this arch, once filled; NULL: the plan chooses */
	struct {
		enum cfg_tri rosetta, rosetta_binfmt;
		char *disk_image_format;
	} vz;
	struct cfg_image *image;
	size_t images;
	uint32_t cpus;
	uint64_t memory, disk; /* bytes */
	struct cfg_disk *additional_disk;
	size_t additional_disks;
	struct cfg_mount *mount;
	size_t mounts;
	char **mount_type_unsupported;
	size_t mount_types_unsupported;
	char *mount_type;
	bool mount_inotify;
	struct {
		uint32_t local_port; /* 0: a free one */
		bool load_dot_ssh_pub_keys, forward_agent, forward_x11, forward_x11_trusted;
		enum cfg_tri over_vsock;
	} ssh;
	struct {
		bool legacy_bios;
		struct cfg_file *image;
		size_t images;
	} firmware;
	struct {
		char *device, *interface;
	} audio;
	struct {
		char *display, *vnc_display;
	} video;
	struct cfg_provision *provision;
	size_t provisions;
	bool upgrade_packages;
	struct {
		bool system, user;
		struct cfg_file *archive;
		size_t archives;
	} containerd;
	char *guest_install_prefix;
	struct cfg_probe *probe;
	size_t probes;
	struct cfg_port_forward *forward;
	size_t forwards;
	struct cfg_copy_to_host *copy;
	size_t copies;
	char *message;
	struct cfg_network *network;
	size_t networks;
	struct cfg_env *env;
	size_t envs;
	struct cfg_env *param;
	size_t params;
	char **dns;
	size_t dns_count;
	struct {
		bool enabled, ipv6;
		struct cfg_env *host; /* name, name or address */
		size_t hosts;
	} host_resolver;
	bool propagate_proxy_env;
	struct {
		bool remove_defaults;
		char **file, **cert;
		size_t files, certs;
	} ca_certs;
	bool plain;
	char *timezone; /* "": the guest's own is left alone */
	bool nested_virtualization;
	struct {
		char *name, *comment, *home, *shell;
		uint32_t uid;
		bool passwordless_sudo;
	} user;
	bool tpm;
	struct cfg_file *virtio_win;
	size_t virtio_wins;
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
		uint64_t cache_trim_minimum; /* bytes */
		char **cache_trim_unless;
		size_t cache_trim_unless_count;
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
	/* What was given, all layers merged: the places of values, and which are no defaults (where.h). */
	struct yn_pool *pool;
	struct ynode *given;
};

/* Facts about the host that defaults depend on. */
struct cfg_host {
	const char *arch, *user, *comment, *home;
	const char *timezone;   /* NULL: not known */
	const char *machine_id; /* "": none */
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
	/* What is read in place of instance.text, unless NULL: its values say where they were given, in the bases of a
	 * template too. It must live as long as the configuration. */
	const struct ynode *tree;
	struct cfg_text defaults, override; /* _config/default.yaml, _config/override.yaml */
	const struct cfg_host *host;
	const char *name, *dir; /* of the instance, for {{.Name}} and {{.Dir}} */
	const char *lima_home;
	bool partial; /* something is missing that could not be read: only each value itself is checked, and nothing comes of it */
	bool lenient; /* unknown keys are warnings */
	bool strict;  /* templates that cannot be filled are errors */
};

/* Parses, merges, fills and checks; every finding of all three texts goes to f. False when one is an error, *out is
 * empty then. */
bool cfg_read(const struct cfg_input *in, struct cfg *out, struct findings *f);
/* The filled configuration as a tree: keys in the order of the table, each value with the place it was given at (none: a
 * default). For YAML, JSON, --explain. */
struct ynode *cfg_tree(const struct cfg *c, struct yn_pool *p);
char *cfg_json_schema(void); /* JSON Schema of what a template may hold. malloc'd */

void cfg_free(struct cfg *c); /* *c is empty afterwards */
#define auto_cfg CLEANUP(cfg_free) struct cfg

#endif
