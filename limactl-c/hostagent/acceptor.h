/* acceptor.h - takes the connections of a listening socket.
 *
 * When descriptors have run out, one connection after the other is dropped, so that who comes hears of it at once; where even that
 * is not possible, the queue is looked at again a moment later instead of keeping the loop busy.
 */
#ifndef LIMA_HOSTAGENT_ACCEPTOR_H
#define LIMA_HOSTAGENT_ACCEPTOR_H

#include "limactl-c/hostagent/loop.h"

struct acceptor;

/* fd is taken. fn gets each connection, non-blocking and close-on-exec; it must not free the acceptor. */
struct acceptor *acceptor_new(struct loop *l, int fd, void (*fn)(void *ctx, int fd), void *ctx);
void acceptor_start(struct acceptor *a); /* until then connections stay in the kernel's queue */
int acceptor_fd(const struct acceptor *a);
void acceptor_free(struct acceptor *a); /* NULL is allowed */

#endif
