/* names.h - a DNS server for this host's resolver: CONTAINER.INSTANCE.local is where the container's ports are published.
 *
 * On 127.0.0.1, at a port of the plan. The guest is asked when a question comes, and never woken for one.
 */
#ifndef LIMA_HOSTAGENT_NAMES_H
#define LIMA_HOSTAGENT_NAMES_H

#include <stdbool.h>

#include "limactl-c/base/jsonx.h"
#include "limactl-c/hostagent/guest.h"
#include "limactl-c/hostagent/loop.h"
#include "limactl-c/hostagent/publish.h"
#include "limactl-c/plan/plan.h"

struct names;

/* NULL: the plan has no port for it. Where another program has the port this is logged and names_json() tells it; it is no
 * error. awake says whether the guest can answer without being woken. */
struct names *names_new(struct loop *l, struct guest *g, const struct publish *pub, const struct plan *plan,
			bool (*awake)(void *ctx), void *ctx);
void names_free(struct names *n); /* before guest_free(); NULL is allowed */

/* For status: {domain, address, error}. */
struct jx *names_json(const struct names *n);

/* --- what a name is --- */

enum names_kind { NAMES_OUTSIDE, NAMES_INSTANCE, NAMES_CONTAINER };

/* name, as it was asked for, seen from an instance. NAMES_CONTAINER: *len is the length of the container's part. */
enum names_kind names_kind(const char *name, const char *instance, size_t *len);

#endif
