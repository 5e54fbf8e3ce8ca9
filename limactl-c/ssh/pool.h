/* pool.h - as many connections to the guest's SSH server as its limits ask for; channels are opened on any of them.
 *
 * OpenSSH allows ten sessions a connection, and libssh2 opens one channel at a time: one whose opening takes long, a port of
 * an address that does not answer, must not keep others waiting.
 */
#ifndef LIMA_SSH_POOL_H
#define LIMA_SSH_POOL_H

#include "limactl-c/ssh/connection.h"

enum { POOL_MAX = 24 }; /* connections */

struct pool {
	struct server *server; /* borrowed */
	struct connection *conn[POOL_MAX];
	size_t count;
	struct node waiting;   /* channels that wait for a place */
	struct err why;        /* of the connection that was lost last */
	bool stranger;         /* see struct connection */
};

void pool_init(struct pool *p, struct server *server);
void pool_fini(struct pool *p); /* all channels were closed */

void pool_connect(struct pool *p); /* the first connection */
bool pool_is_ready(const struct pool *p);
bool pool_is_empty(const struct pool *p); /* the last connection is lost: p->why */

void pool_step(struct pool *p);     /* after each wait */
void pool_dispatch(struct pool *p); /* before each wait, when all has been asked for */
size_t pool_poll(const struct pool *p, struct pollfd fds[POOL_MAX]);
int pool_timeout(const struct pool *p); /* milliseconds, -1: none */

/* Asks for a channel; request is taken, may be NULL. ch->state tells of it: pool_state(). */
void pool_open(struct pool *p, struct chan *ch, const char *type, uint8_t *request, size_t len);
/* CHAN_WAITING or CHAN_OPENING while it is under way. */
enum chan_state pool_state(struct pool *p, struct chan *ch);
void pool_close(struct chan *ch);

#endif
