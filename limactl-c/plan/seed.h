/* seed.h - the content of the volume "cidata" that a guest with an init of its own reads at each boot.
 *
 * cloud-init and alpine-lima's lima-init read user-data, meta-data and network-config; both start boot.sh, which reads
 * lima.env, param.env and etc_environment and runs the scripts beside it (provision/cloud/, docs/seed.md). The names of
 * files and variables are Lima's.
 *
 * The same input gives the same bytes. The instance's id is a hash of what cloud-init does once an instance (user, keys,
 * network, host name, mounts, certificates, time zone), so it changes exactly when that has to be done again.
 */
#ifndef LIMA_SEED_H
#define LIMA_SEED_H

#include <stddef.h>

#include "lib/cleanup.h"
#include "lib/err.h"
#include "limactl-c/config/config.h"
#include "limactl-c/plan/plan.h"

#define SEED_NERDCTL "nerdctl-full.tgz"

enum { SEED_TEXT_MAX = 4 << 20 }; /* bytes of one file we write */

struct seed_file {
	char *path;    /* in the volume */
	unsigned mode; /* permission bits */
	char *data;    /* its bytes, or NULL: those of source */
	size_t len;
	char *source;  /* absolute host path */
};

struct seed {
	struct seed_file *file; /* sorted by path */
	size_t files;
};

struct seed_input {
	const struct cfg *c;
	const struct plan *p;
	const char *host_home;          /* of who runs this; NULL: not known */
	const char *provision;          /* folder of our own scripts: share/limactl-c/provision */
	const char *const *key;         /* public keys that may log in: lines of authorized_keys */
	size_t keys;
	const char *const *certificate; /* texts of caCerts.files, PEM */
	size_t certificates;
};

/* ERR_INVALID, and *out is empty, when a value cannot be said in these files: one with a line break or a control
 * character, or not UTF-8. */
int seed_make(const struct seed_input *in, struct seed *out, struct err *e);
void seed_free(struct seed *s); /* also makes it empty */

#define auto_seed CLEANUP(seed_free) struct seed

#endif
