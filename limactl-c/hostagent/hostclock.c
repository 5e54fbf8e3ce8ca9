#include "limactl-c/hostagent/hostclock.h"

#include <stdlib.h>
#include <unistd.h>

#include "lib/cleanup.h"
#include "lib/clock.h"
#include "limactl-c/base/mem.h"

enum { REST_MS = 1000 };

struct hostclock {
	int fd;
	struct watch *watch;
	struct deadline *rest; /* until it is watched again */
	void (*fn)(void *ctx);
	void *ctx;
};

static void on_changed(void *ctx, unsigned events)
{
	struct hostclock *h = ctx;
	char expirations[8];

	(void)events;
	(void)!read(h->fd, expirations, sizeof(expirations)); /* fails: it was cancelled, which is what we wait for */
	watch_set(h->watch, 0);
	deadline_in(h->rest, REST_MS);
	h->fn(h->ctx);
}

static void on_rested(void *ctx)
{
	struct hostclock *h = ctx;

	watch_set(h->watch, WATCH_READ);
}

struct hostclock *hostclock_new(struct loop *l, void (*fn)(void *ctx), void *ctx)
{
	auto_close int fd = clock_changes_open();
	struct hostclock *h;

	if (fd < 0)
		return NULL;
	h = xcalloc(1, sizeof(*h));
	h->fn = fn;
	h->ctx = ctx;
	h->fd = steal_fd(&fd);
	h->rest = deadline_new(l, on_rested, h);
	h->watch = watch_new(l, h->fd, on_changed, h);
	if (!h->watch) {
		hostclock_free(h);
		return NULL;
	}
	watch_set(h->watch, WATCH_READ);
	return h;
}

void hostclock_free(struct hostclock *h)
{
	if (!h)
		return;
	watch_free(h->watch);
	deadline_free(h->rest);
	close(h->fd);
	free(h);
}
