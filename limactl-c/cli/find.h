/* find.h - the files an instance is made of, fetched: which image, and what it boots with. */
#ifndef LIMA_CLI_FIND_H
#define LIMA_CLI_FIND_H

#include <stdbool.h>

#include "lib/err.h"
#include "limactl-c/config/config.h"
#include "limactl-c/plan/plan.h"

/* Absolute paths, owned; NULL: none. */
struct found {
	char *disk, *kernel, *initrd, *firmware, *engine, *containerd;
	char *boot_args;
	bool iso; /* disk is one */
	bool harvest; /* see struct plan */
};
void found_free(struct found *f); /* also makes it empty */

/* Fetches what is missing. An instance keeps the files of its former plan (NULL: none) while they are there and fit the
 * configuration: the kernel fits the modules on its disk, whatever the cache's names mean by now. */
int found_make(struct found *f, const struct cfg *c, const struct plan *former, struct err *e);

/* Borrowed from f. */
struct plan_images found_images(const struct found *f);

#endif
