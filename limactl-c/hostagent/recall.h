/* recall.h - answers of Docker to questions that change nothing, given again while the machine sleeps: so tools that ask every
 * few seconds do not wake it up, nor keep it awake.
 *
 * An answer is kept while nothing can have changed since the question: Docker's events are followed from before it, no other
 * use of the guest came since (use.h), and it was not asleep in between. A question is known by every byte of it.
 */
#ifndef LIMA_HOSTAGENT_RECALL_H
#define LIMA_HOSTAGENT_RECALL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/buf.h"
#include "limactl-c/hostagent/guest.h"
#include "limactl-c/hostagent/loop.h"

/* A longer answer is not kept; of all together, questions too, the oldest give way. */
enum { RECALL_ANSWER_MAX = 128 * 1024, RECALL_BYTES_MAX = 1024 * 1024, RECALL_MAX = 64 };

struct recall;

/* socket is docker.sock's path in the guest, borrowed. */
struct recall *recall_new(struct loop *l, struct guest *g, const char *socket);
void recall_free(struct recall *r); /* before guest_free(); NULL is allowed */

/* The answer to the question p, valid until the next call; NULL: it is not known, or may be another by now. */
const struct buf *recall_find(struct recall *r, const char *p, size_t n);

/* A question goes to the guest; returns what recall_keep() wants to have of it. */
uint64_t recall_asked(struct recall *r);
/* Its whole answer; what it has in common with others since then decides whether it is kept. */
void recall_keep(struct recall *r, uint64_t asked, const struct buf *question, const struct buf *answer);

/* Before each wait of the loop: whether the machine runs or sleeps, and neither is about to change. What was known before it slept
 * is forgotten when it does not any more. NULL is allowed. */
void recall_state(struct recall *r, bool awake, bool asleep);
bool recall_is_awake(const struct recall *r);
bool recall_is_asleep(const struct recall *r);

#endif
