/* plan.h - everything decided about running one instance on this host, nothing started.
 *
 * Made by plan_make() from the configuration and host facts (pure), written into the instance folder as
 * plan.json by the command line, read from there by the host agent at start, wake and adoption. A plan holds
 * no pointer into the configuration; every string is its own.
 */
#ifndef LIMA_PLAN_H
#define LIMA_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/err.h"

enum plan_driver { PLAN_QEMU, PLAN_VZ, PLAN_FAKE };
const char *plan_driver_word(enum plan_driver driver); /* as vmType names it: "qemu" */
enum plan_accel { PLAN_TCG, PLAN_KVM, PLAN_HVF };
enum plan_init { PLAN_INIT_LEAN, PLAN_INIT_OPENRC };

/* What starts the guest: nothing (the fake driver), its kernel without a loader, or its own loader. */
enum plan_boot { PLAN_BOOT_NONE, PLAN_BOOT_DIRECT, PLAN_BOOT_BIOS, PLAN_BOOT_UEFI };

/* The network of guests that ask by DHCP, and who is who in it: Lima's, so that what names them finds them. */
#define PLAN_NET "192.168.5.0/24"
#define PLAN_NET_GATEWAY "192.168.5.2"
#define PLAN_NET_DNS "192.168.5.3"
#define PLAN_NET_ADDRESS "192.168.5.15"
#define PLAN_AGENT_PORT "io.limactl-c.agent.0" /* virtio-serial port of the guest agent */

/* A disk as the guest sees it, in order: vda, vdb, … */
struct plan_disk {
	char *path;
	char *format;   /* "qcow2" or "raw" */
	bool readonly;
	char *name;     /* of an extra disk ($LIMA_HOME/_disks), which is locked while it is in use; else NULL */
	char *serial;   /* by which the guest finds it, 20 bytes at most; NULL: by its place */
};

enum { PLAN_EXTRA_MAX = 16 }; /* extra disks */

enum plan_proto { PLAN_TCP = 1, PLAN_UDP = 2, PLAN_ANY = 3 };

/* One port rule, in Lima's order: the first that matches decides. */
struct plan_port_rule {
	enum plan_proto proto;
	bool ignore;
	bool guest_ip_must_be_zero;
	char *guest_ip;  /* numeric */
	char *host_ip;   /* numeric */
	uint16_t guest_first, guest_last;
	uint16_t host_first;
};

/* A host socket relayed to a guest socket. */
struct plan_socket {
	char *host_path;  /* absolute */
	char *guest_path; /* absolute */
};

/* An entry of provision[], by its place there; its text is written by the command line to <dir>/provision/NN and carried in the initramfs. */
struct plan_script {
	char *mode;   /* as in the template */
	char *text;   /* script, content or expression */
	char *format; /* yq: "yaml" or "json" */
};

/* A script run in the guest until it succeeds; only then is the instance ready. */
struct plan_probe {
	char *description, *script;
	char *hint; /* for who reads that it failed; "" when none */
	bool once;  /* tried once: what it looks for is there by then, or will not come */
};

/* A file fetched from the guest before the instance is ready. */
struct plan_copy {
	char *guest_path, *host_path; /* absolute */
	bool skip_if_missing, delete_on_stop;
};

struct plan_pair {
	char *key, *value;
};

/* One file the initramfs of a direct boot carries besides the base. Settings and scripts are written to the instance
 * folder first (plan_settings_text, plan_script.text), the rest is there already. */
#define PLAN_CA "lima/ca/"
struct plan_file {
	char *guest_path; /* "lima/agent"; PLAN_CA "NN.crt": caCerts.files[NN] */
	char *source;     /* host path */
	unsigned mode;    /* 0755 */
};

struct plan {
	char *name;
	char *dir;      /* instance folder, absolute */
	char *hostname; /* of the guest */
	enum plan_driver driver;
	char *arch; /* x86_64, aarch64 */
	unsigned cpus;
	uint64_t memory; /* bytes */

	enum plan_boot boot;

	/* direct boot */
	char *kernel;
	char *initrd_base; /* initramfs our own archive is appended to; NULL: none is, the guest boots in its own way */
	char *initrd;      /* the result, in the instance folder, or the guest's own; NULL: none */
	char *boot_args;   /* what the image tells the kernel: images[].kernel.cmdline, an ISO's loader; NULL: nothing */
	char *cmdline;     /* all that the kernel is told */
	bool harvest;      /* kernel, initrd and boot_args are, or may once be, taken out of the guest (store/harvest.h) */

	/* UEFI: code, and the instance's own variables. The store is made at the first start, of the template or, without
	 * one, empty; it is never written over. */
	char *firmware, *vars, *vars_template;

	enum plan_init init;
	struct plan_file *file;
	size_t files;

	char *containerd; /* the archive it comes from; NULL: none is wanted */

	char *seed; /* volume "cidata" for a guest with an init of its own, written at each start (seed.h); NULL: none */

	struct plan_disk *disk;
	size_t disks;
	uint64_t disk_size;  /* of the first disk, bytes */
	char *disk_base;     /* backing file of the first disk; NULL: it is empty at first */
	char *iso;           /* the image when it is one: a CD-ROM; NULL: none */

	/* qemu */
	char *qemu; /* program */
	enum plan_accel accel;
	char *machine; /* "q35,hpet=off" */
	char *cpu;
	unsigned tb_size; /* MiB of TCG's code cache, 0 = QEMU's default */
	char *mac;        /* of eth0 */
	uint16_t ssh_port; /* 0 = none */

	/* fake: the native guest agent run as "the VM" */
	char *agent; /* program */

	struct plan_port_rule *rule;
	size_t rules;
	struct plan_socket *socket;
	size_t sockets;
	struct plan_script *script;
	size_t scripts;
	struct plan_pair *setting; /* for the guest (lib/settings.h), in order */
	size_t settings;
	struct plan_probe *probe;
	size_t probes;
	unsigned probe_seconds; /* each probe has, from its first try */
	struct plan_copy *copy;
	size_t copies;
	char *message; /* shown when READY, "" when none */

	/* idle policy; seconds, 0 = never */
	char *idle_when; /* noContainers, noConnections, never */
	unsigned idle_pause_after, idle_suspend_after;
};

void plan_free(struct plan *p); /* also makes it empty */

struct cfg;
struct findings;
struct plan_host;

/* One of additionalDisks as it is on this host; path NULL: not there yet, and left out. */
struct plan_extra {
	const char *path, *format;
};

/* The chosen image's files, fetched: absolute host paths, NULL for what the template does not name. */
struct plan_images {
	const char *disk, *kernel, *initrd;
	bool iso;              /* disk is an ISO */
	const char *boot_args; /* see struct plan */
	bool harvest;          /* see struct plan; kernel and initrd are NULL as long as they are not known */
	const char *firmware;  /* of firmware.images */
	const char *engine_disk;
	const char *containerd; /* archive, when it is wanted */
	const struct plan_extra *extra; /* one for each of additionalDisks */
	size_t extras;
};

/* Decides everything. Pure: a function of a filled configuration, plan_supported(), and host facts (plan/host.h). ERR_INVALID when the
 * configuration asks for what this host or this version cannot do. *out is empty on failure. */
int plan_make(const struct cfg *c, const struct plan_host *h, const struct plan_images *images, const char *name,
	      const char *dir, struct plan *out, struct err *e);

/* Whether this version carries out all that the configuration asks for; what it does not becomes findings, each at its
 * place. name: of the file, where no place is known. */
bool plan_supported(const struct cfg *c, const char *name, struct findings *f);

/* What can be said before anything is fetched: whether such a configuration can be carried out here at all. */
int plan_possible(const struct cfg *c, const struct plan_host *h, struct err *e);

/* Settings with what a guest's own loader is to tell the kernel: unless it says otherwise already, and after all else. */
#define PLAN_LOADER_ARGS "loader.args"
#define PLAN_LOADER_LAST_ARGS "loader.lastArgs"

const char *plan_setting(const struct plan *p, const char *key); /* borrowed; NULL: there is none */

/* The settings as the guest reads them (lib/settings.h); malloc'd. */
char *plan_settings_text(const struct plan *p, struct err *e);

/* plan.json. plan_load refuses unknown versions and missing or mistyped members by name. */
int plan_save(const struct plan *p, const char *path, struct err *e);
int plan_load(struct plan *p, const char *path, struct err *e);
int plan_parse(struct plan *p, const char *text, size_t len, struct err *e); /* the same for its text; *p must be empty */

/* Text that is the same for two plans exactly when a machine saved under one can be restored under the other (program,
 * accelerator, cpus, memory, disks, devices, kernel); malloc'd. */
char *plan_machine_text(const struct plan *p);

#endif
