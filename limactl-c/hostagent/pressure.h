/* pressure.h - hears when programs of the host wait for memory: a trigger of Linux's pressure stall information. Nothing is
 * looked at while they do not.
 */
#ifndef LIMA_HOSTAGENT_PRESSURE_H
#define LIMA_HOSTAGENT_PRESSURE_H

#include "limactl-c/hostagent/loop.h"

struct pressure;

/* fn is called every two seconds in which some program has waited for more than a tenth of them. NULL: the system does not tell. */
struct pressure *pressure_new(struct loop *l, void (*fn)(void *ctx), void *ctx);
void pressure_free(struct pressure *p); /* NULL is allowed */

#endif
