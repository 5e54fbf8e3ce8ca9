#include "limactl-c/hostagent/retry.h"

#include <stdlib.h>

#include "limactl-c/base/mem.h"

enum {
	BUSY_MS = 1000,
	DENIED_MS_FIRST = 1000, /* doubled from try to try … */
	DENIED_MS_MOST = 60000, /* … up to this */
};

struct retry {
	struct deadline *tick;
	int denied_ms;
	void (*fn)(void *ctx);
	void *ctx;
};

static void on_tick(void *ctx)
{
	struct retry *r = ctx;

	r->denied_ms = 2 * r->denied_ms < DENIED_MS_MOST ? 2 * r->denied_ms : DENIED_MS_MOST;
	r->fn(r->ctx);
}

void retry_restart(struct retry *r)
{
	r->denied_ms = DENIED_MS_FIRST;
}

void retry_arm(struct retry *r, bool busy, bool denied)
{
	if (busy || denied)
		deadline_in(r->tick, busy ? BUSY_MS : r->denied_ms);
	else
		deadline_stop(r->tick);
}

struct retry *retry_new(struct loop *l, void (*fn)(void *ctx), void *ctx)
{
	struct retry *r = xcalloc(1, sizeof(*r));

	r->tick = deadline_new(l, on_tick, r);
	r->fn = fn;
	r->ctx = ctx;
	retry_restart(r);
	return r;
}

void retry_free(struct retry *r)
{
	if (!r)
		return;
	deadline_free(r->tick);
	free(r);
}
