/* api.h - the control socket ha.sock: HTTP with JSON, one request a connection (docs/protocol.md, "Control socket"). */
#ifndef LIMA_HOSTAGENT_API_H
#define LIMA_HOSTAGENT_API_H

#include "lib/err.h"
#include "limactl-c/hostagent/agent.h"
#include "limactl-c/hostagent/loop.h"

struct api;

struct api *api_new(struct loop *l, struct ha *ha, const char *path, struct err *e);
void api_close(struct api *a); /* no more requests; those that wait are still answered. Removes the socket's file */
void api_free(struct api *a);  /* NULL is allowed */

#endif
