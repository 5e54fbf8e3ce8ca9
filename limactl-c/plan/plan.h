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

/* A folder of the host in the guest. Of two that overlap there, the outer one comes first. */
enum { PLAN_MOUNT_MAX = 32 };
enum plan_mount_type { PLAN_MOUNT_9P, PLAN_MOUNT_VIRTIOFS, PLAN_MOUNT_SSHFS };
const char *plan_mount_word(enum plan_mount_type type); /* as mountType names it: "9p" */
struct plan_mount {
	char *host_path;  /* absolute */
	char *guest_path; /* absolute */
	char *tag;        /* by which the guest finds it */
	enum plan_mount_type type;
	bool writable;
	char *options;        /* for the guest's kernel, besides ro or rw; "" when none */
	char *security_model; /* 9p; else NULL */
	unsigned queue_size;  /* virtiofs: requests a queue holds */
	bool cache;           /* sshfs: the guest keeps for a while what it has seen */
	bool follow_symlinks; /* sshfs: links are resolved on the host */
};

enum plan_proto { PLAN_TCP = 1, PLAN_UDP = 2, PLAN_ANY = 3 };

/* One port rule, in Lima's order: the first that matches decides. */
struct plan_port_rule {
	enum plan_proto proto;
	bool ignore;
	bool guest_ip_must_be_zero;
	bool is_static; /* listened on from the start, whatever the guest does; it is for TCP */
	bool to_socket; /* its port is one of plan_socket: not listened on */
	char *guest_ip;  /* numeric */
	char *host_ip;   /* numeric */
	uint16_t guest_first, guest_last;
	uint16_t host_first;
};

enum { PLAN_STATIC_MAX = 1024 }; /* ports of static rules; of reverse sockets: AP_REVERSE_MAX */

/* A forward with a socket at one end or at both, which is there from the start. */
struct plan_socket {
	char *host_path;  /* absolute; NULL: host_ip and host_port */
	char *guest_path; /* absolute; NULL: guest_ip and guest_port */
	char *host_ip, *guest_ip; /* numeric; NULL with a path */
	uint16_t host_port, guest_port;
	bool reverse;     /* the guest listens and what lies at host_path answers; both ends have paths */
	unsigned mode;    /* of the socket listened on */
	char *group;      /* of that socket; NULL: none is given */
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

	struct plan_mount *mount;
	size_t mounts;
	bool file_events;   /* changes in the writable ones are told the guest */
	char *virtiofsd;    /* the server of virtiofs mounts, an instance of it each; NULL: there are none */
	bool virtiofsd_old; /* QEMU's own, which only root can run */

	/* qemu */
	char *qemu; /* program */
	enum plan_accel accel;
	uint64_t shared_memory; /* bytes of memory that host and guest agent both see; 0: none */
	char *machine; /* "q35,hpet=off" */
	char *cpu;
	unsigned tb_size; /* MiB of TCG's code cache, 0 = QEMU's default */
	char *mac;        /* of eth0 */

	/* fake: the native guest agent run as "the VM" */
	char *agent; /* program */

	uint16_t ssh_port; /* of this host, which leads to the guest's SSH server; 0 = none yet: it was never started */
	char *ssh_key;     /* private key for the SSH server of a guest without our agent, which is driven through that alone; NULL: it has
			    * the agent */
	char *ssh_options; /* for ssh, but for Hostname and Port: lines as ssh.config has them, "KEY VALUE" */

	struct plan_port_rule *rule;
	size_t rules;
	struct plan_socket *socket;
	size_t sockets;
	uint16_t dns_port; /* of this host, at which it can ask for containers by name; 0 = none */
	struct plan_script *script;
	size_t scripts;
	char *dns_address; /* of the guest's name server, on which it asks the host; NULL: it asks others */
	bool dns_ipv6;     /* else no name has an IPv6 address */
	struct plan_pair *host_name; /* known besides: name, and an address or another name; the first of a name counts */
	size_t host_names;
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
	const char *machine_id; /* of a clone; NULL: the disk's */
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

/* The port that an instance in that folder takes when it asks for none: the first (n 0, 1, …) that is free. */
uint16_t plan_ssh_port(const char *dir, unsigned n);
const char *plan_ssh_agent(const struct plan *p); /* the host's ssh agent, its path in the guest; NULL: it is not lent */

bool plan_socket_is_docker(const struct plan_socket *s); /* by the name of the host's end */
const char *plan_docker_socket(const struct plan *p);    /* the first of them, its path in the guest; NULL: there is none */
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
