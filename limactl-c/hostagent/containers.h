/* containers.h - which containers run in the guest, as its Docker says: asked when somebody wants to know, never else. */
#ifndef LIMA_HOSTAGENT_CONTAINERS_H
#define LIMA_HOSTAGENT_CONTAINERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/cleanup.h"
#include "lib/err.h"
#include "limactl-c/hostagent/guest.h"
#include "limactl-c/hostagent/loop.h"

enum {
	CONTAINERS_MAX = 4096, /* of one list; more are left out */
	CONTAINER_PORTS_MAX = 1024,
	CONTAINERS_BYTES_MAX = 2 << 20, /* of Docker's answer; a container takes about 2 KiB */
};

struct container {
	char *name;     /* letters, digits, "_", "." and "-", as all below */
	char *service;  /* of Compose; NULL: none */
	uint16_t *port; /* TCP and UDP ports of the guest that lead to it */
	size_t ports;
	bool works;     /* keeps the machine awake */
};

struct container_list {
	struct container *item;
	size_t count;
	size_t working; /* how many keep the machine awake, those left out of item too */
};

/* A container with this label, "ignore", does not keep the machine awake. */
#define CONTAINER_IDLE_LABEL "io.limactl-c.idle"

/* Reads the body of an answer to GET /containers/json. The guest is not trusted: what has no name of that form is left out. */
int container_list_parse(struct container_list *list, const char *text, size_t len, struct err *e);
void container_list_free(struct container_list *list); /* what is in it */
/* By its name, else by a service that only one has; capitals do not count. NULL: none. */
const struct container *container_list_find(const struct container_list *list, const char *name);

struct containers;

/* socket is docker.sock's path in the guest, borrowed. answered is called once for each containers_ask(), possibly before it
 * returns; ok: the list is that of now, not an earlier one. */
struct containers *containers_new(struct loop *l, struct guest *g, const char *socket, void (*answered)(void *ctx, bool ok),
				  void *ctx);
void containers_free(struct containers *c); /* before guest_free(); NULL is allowed */

void containers_ask(struct containers *c); /* not while containers_asking() */
bool containers_asking(const struct containers *c);
/* The last list; NULL when there was none yet. *age: milliseconds since it came. */
const struct container_list *containers_known(const struct containers *c, int64_t *age);

#endif
