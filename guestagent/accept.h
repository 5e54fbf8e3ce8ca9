/* accept.h - a listening socket whose connections are taken as they come.
 *
 * Edges only, a few connections between two looks at everything else; where there is no room for one (descriptors, memory), it
 * waits in the socket's queue and is looked for again a moment later, instead of waking the agent up again and again.
 */
#ifndef LIMA_GUESTAGENT_ACCEPT_H
#define LIMA_GUESTAGENT_ACCEPT_H

#include "guestagent/loop.h"

struct ga_accept {
	struct ga_loop *loop;
	struct ga_watch watch; /* fd -1: it does not listen */
	struct ga_timer retry;
	const char *name; /* for the log */
	void (*take)(struct ga_accept *a, int fd); /* fd is its; it may stop a */
};

/* The other members are set; fd, which does not block, is closed by ga_accept_close(). -1: it cannot be watched. */
int ga_accept_start(struct ga_accept *a, int fd);
void ga_accept_stop(struct ga_accept *a);  /* the socket goes on listening, and is its maker's again */
void ga_accept_close(struct ga_accept *a);

#endif
