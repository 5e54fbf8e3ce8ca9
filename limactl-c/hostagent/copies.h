/* copies.h - copyToHost: files of the guest put where the template says, before the instance is ready. */
#ifndef LIMA_HOSTAGENT_COPIES_H
#define LIMA_HOSTAGENT_COPIES_H

#include <stdbool.h>

#include "limactl-c/base/jsonx.h"
#include "limactl-c/hostagent/guest.h"
#include "limactl-c/plan/plan.h"

enum { COPY_MAX = 64 << 20 }; /* bytes of one file */

struct copies;

/* over is called when the last one was copied or could not be. */
struct copies *copies_new(struct guest *g, const struct plan *plan, void (*over)(void *ctx), void *ctx);
void copies_free(struct copies *c); /* NULL is allowed */

void copies_start(struct copies *c); /* nothing when it was begun already */
void copies_stop(struct copies *c);  /* ends what runs; copies_start() begins afresh */
bool copies_over(const struct copies *c);

void copies_waiting(const struct copies *c, struct jx *list);
void copies_errors(const struct copies *c, struct jx *list);

void copies_delete(const struct plan *plan); /* at the end: those with deleteOnStop */

#endif
