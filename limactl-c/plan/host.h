/* host.h - facts about this host that a plan depends on; the only place that probes for them. */
#ifndef LIMA_PLAN_HOST_H
#define LIMA_PLAN_HOST_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/cleanup.h"
#include "lib/err.h"
#include "limactl-c/config/config.h"
#include "limactl-c/plan/plan.h"

enum { PLAN_PROXIES = 10 };

struct plan_host {
	char *arch; /* x86_64, aarch64 */
	unsigned cpus;
	uint64_t memory; /* bytes */
	bool darwin;
	char *user, *comment, *home; /* of who runs this */
	unsigned uid;
	char *timezone;   /* NULL: not known */
	char *machine_id; /* "": none */
	char *lima_home;
	char *zoneinfo;   /* folder of time zones, NULL: none */
	struct plan_pair proxy[PLAN_PROXIES]; /* http_proxy and its like, of the environment */
	size_t proxies;

	char *ssh_auth_sock; /* the user's ssh agent, of the environment; NULL: none */
	uint16_t ssh_port;   /* chosen for the instance; 0: none yet */
	char **ssh_key;      /* who may log in by ssh: lines of authorized_keys */
	size_t ssh_keys;
	char **ssh_identity; /* private keys of the user's that fit some of them, besides Lima's own */
	size_t ssh_identities;

	/* for the guest's architecture, see plan_host_for_guest */
	char *qemu;            /* program, a path or a name to look up in PATH */
	enum plan_accel accel;
	bool ivshmem;          /* that QEMU emulates, and can give the guest memory which both sides of the channel see */
	char *agent;           /* static guest agent */
	char *provision;       /* folder share/limactl-c/provision */

	char *firmware, *firmware_vars; /* UEFI: code and a template of its variables; NULL: not installed */

	/* The server of virtiofs mounts, see plan_host_find_virtiofsd; NULL: not looked for, or there is none. */
	char *virtiofsd;
	bool virtiofsd_old;      /* QEMU's own, in C, which only root can run */
	bool virtiofsd_readonly; /* it has --readonly */

	unsigned probe_seconds; /* how long a probe may take: 600, or $LIMACTL_C_PROBE_SECONDS */
	bool fake; /* $LIMACTL_C_DRIVER is "fake": every machine is the native agent */
};

int plan_host_probe(struct plan_host *h, struct err *e);
/* The part that depends on the guest's architecture: QEMU, accelerator, agent, firmware. */
int plan_host_for_guest(struct plan_host *h, const char *arch, struct err *e);
void plan_host_free(struct plan_host *h);
/* What defaults of a configuration depend on; its strings are h's. */
struct cfg_host plan_host_facts(const struct plan_host *h);

/* UEFI firmware for guests of arch: the first pair of code and variables that is there, in the user's folder
 * home/.local/share/qemu, beside QEMU's program (a path), or where distributions put it below root (""). Both are
 * malloc'd, NULL when there is none. */
void plan_firmware_find(const char *arch, const char *home, const char *qemu, const char *root, char **code,
			char **vars);
char *plan_qemu_share(const char *qemu); /* PREFIX/bin/qemu-system-x86_64 → PREFIX/share/qemu, malloc'd */

/* Looks for virtiofsd as QEMU's interface for such servers says (share/qemu/vhost-user/NN-NAME.json, the lowest number counts):
 * in the user's ~/.local, beside QEMU, in /usr/local, in /usr; below root (""). Asks it what it can do. Starts a program. */
void plan_host_find_virtiofsd(struct plan_host *h, const char *root);

/* The file that describes a time zone, malloc'd; NULL when this host does not know it. */
char *plan_host_zone(const struct plan_host *h, const char *name);

/* This host's architecture in Lima's words; "": not known. */
const char *plan_host_arch(void);

/* Whether the flags line of /proc/cpuinfo in text shows hardware virtualization (vmx or svm). */
bool plan_host_cpu_virtualizes(const char *cpuinfo);

#define auto_plan_host CLEANUP(plan_host_free) struct plan_host

#endif
