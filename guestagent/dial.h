/* dial.h - a connection to a host by its name, made by a child: a look-up blocks, and what the network answers to it is read
 * with the user's rights only.
 */
#ifndef LIMA_GUESTAGENT_DIAL_H
#define LIMA_GUESTAGENT_DIAL_H

#include "guestagent/session.h"

enum { GA_DIALS_MAX = 256 }; /* at once */

struct ga_dial {
	struct ga *ga;
	struct ga_watch watch; /* fd -1: none under way */
	struct ga_child child;
	/* Once: a connected socket, non-blocking and the callee's, and 0; or -1 and an errno value (0: nobody knows the name). */
	void (*done)(struct ga_dial *d, int fd, int error);
};

/* Names and addresses alike; all addresses of a name are tried, for a minute at most. -1: it cannot be begun; done is not
 * called. */
int ga_dial_start(struct ga *ga, struct ga_dial *d, const char *host, uint16_t port);
void ga_dial_stop(struct ga_dial *d); /* nothing when none is under way */

#endif
