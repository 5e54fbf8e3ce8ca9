/* cache_use.h - the agreement between those who use images of the cache and prune, which removes them.
 *
 * From the look for an image until a plan.json names it, a lock is held, shared; prune holds it alone. Each LIMA_HOME that has
 * instances on the cache is noted there (homes/SHA256-OF-PATH, a symbolic link), for prune to look into.
 */
#ifndef LIMA_CACHE_USE_H
#define LIMA_CACHE_USE_H

#include "lib/err.h"

/* Descriptors that hold the lock. cache_use: -1 where the cache cannot be written to, and nothing be pruned from it
 * therefore. Both wait for each other. */
int cache_use(void);
int cache_use_alone(const char *cache, struct err *e);

#endif
