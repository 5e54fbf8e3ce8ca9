/* docker_watch.h - the guest's Docker tells when a container has ended: asked once, nothing is polled. */
#ifndef LIMA_HOSTAGENT_DOCKER_WATCH_H
#define LIMA_HOSTAGENT_DOCKER_WATCH_H

#include <stdbool.h>

#include "limactl-c/hostagent/guest.h"
#include "limactl-c/hostagent/loop.h"

struct docker_watch;

/* What is heard, possibly before docker_watch_start() returns. Either begun or ended follows within a few seconds. */
struct docker_watch_ops {
	void (*begun)(void *ctx);   /* from now on it is told */
	void (*changed)(void *ctx);
	void (*ended)(void *ctx);   /* it could not begin, or Docker is gone: docker_watch_start() is possible again */
};

/* socket is docker.sock's path in the guest, borrowed. */
struct docker_watch *docker_watch_new(struct loop *l, struct guest *g, const char *socket, const struct docker_watch_ops *ops,
				      void *ctx);
void docker_watch_free(struct docker_watch *w); /* before guest_free(); NULL is allowed */

void docker_watch_all(struct docker_watch *w); /* from its next start it tells of whatever changes in the engine */
void docker_watch_start(struct docker_watch *w); /* not while it is active */
bool docker_watch_is_active(const struct docker_watch *w);

#endif
