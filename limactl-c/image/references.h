/* references.h - the objects and boot files of the cache that instances lie on. */
#ifndef LIMA_IMAGE_REFERENCES_H
#define LIMA_IMAGE_REFERENCES_H

#include <stdbool.h>

#include "limactl-c/image/cache.h"

struct references {
	char (*hex)[SHA256_HEX + 1]; /* SHA-256s; owned */
	size_t count;
};

#define REFERENCES_INIT { 0 }

void references_add(struct references *r, const char hex[SHA256_HEX]);
bool references_have(const struct references *r, const char *hex);
void references_fini(struct references *r);

/* Every "sha256-HEX" in n bytes. */
void references_scan(struct references *r, const char *p, size_t n);

/* What the instances of all homes noted in the cache, and of the present one, name in their plan.json, in vm.state.json (a saved
 * machine) or lie on by the header of their disk. A home that is not there any more is forgotten; one that cannot be looked into is an error. */
int references_of_instances(struct references *r, const struct cache *c, struct err *e);

#endif
