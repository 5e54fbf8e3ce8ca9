#include "limactl-c/hostagent/pressure.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/cleanup.h"
#include "lib/log.h"
#include "limactl-c/base/mem.h"

struct pressure {
	int fd;
	struct watch *watch;
	void (*fn)(void *ctx);
	void *ctx;
};

/* Microseconds of waiting, of a time. Who is not root may name multiples of two seconds only. */
static const char trigger[] = "some 200000 2000000";

static void on_event(void *ctx, unsigned events)
{
	struct pressure *p = ctx;

	if (!(events & WATCH_URGENT))
		return; /* it is told no more */
	log_info("the host is short of memory");
	p->fn(p->ctx);
}

struct pressure *pressure_new(struct loop *l, void (*fn)(void *ctx), void *ctx)
{
	const char *file = getenv("LIMACTL_C_PRESSURE_FILE"); /* for tests: of another group of programs, or none */
	auto_close int fd = open(file ? file : "/proc/pressure/memory", O_RDWR | O_NONBLOCK | O_CLOEXEC);
	struct pressure *p;

	if (fd < 0 || write(fd, trigger, strlen(trigger) + 1) < 0)
		return NULL;
	p = xcalloc(1, sizeof(*p));
	*p = (struct pressure){ .fn = fn, .ctx = ctx };
	p->watch = watch_new(l, fd, on_event, p);
	if (!p->watch) {
		free(p);
		return NULL;
	}
	p->fd = steal_fd(&fd);
	watch_set(p->watch, WATCH_URGENT);
	return p;
}

void pressure_free(struct pressure *p)
{
	if (!p)
		return;
	watch_free(p->watch);
	close(p->fd);
	free(p);
}
