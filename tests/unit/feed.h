/* feed.h - what comes from a carrier goes to the engine as the programs give it: the rest of what is not whole is kept, and
 * given again with more behind it. And what goes to a carrier, for tests that write one part at a time. Without cmocka, so
 * that a fuzz target can have it too. */
#ifndef TESTS_FEED_H
#define TESTS_FEED_H

#include <stdlib.h>
#include <string.h>

#include "lib/mux_internal.h"

struct feed {
	uint8_t rest[MUX_UNIT_MAX];
	size_t len;
	unsigned carriers; /* the engine's count: the rest of another carrier is void */
};

static inline void feed(struct feed *f, struct mux *m, const uint8_t *p, size_t n)
{
	size_t kept = f->carriers == m->carriers ? f->len : 0, used;
	uint8_t *all = malloc(kept + n); /* a block of its own, so that a sanitizer sees reads beyond it */

	if (!all)
		abort();
	memcpy(all, f->rest, kept);
	if (n)
		memcpy(all + kept, p, n);
	n += kept;
	used = mux_feed(m, all, n);
	if (used > n || n - used >= MUX_UNIT_MAX)
		abort();
	f->len = n - used;
	f->carriers = m->carriers;
	memcpy(f->rest, all + used, f->len);
	free(all);
}

/* The first part of what goes to the carrier, and its length; 0 when there is nothing. mux_output_done() follows. */
static inline size_t first_part(struct mux *m, const uint8_t **p)
{
	struct iovec v[MUX_PARTS] = { { NULL, 0 } };

	mux_output_parts(m, v);
	*p = v[0].iov_base;
	return v[0].iov_len;
}

#endif
