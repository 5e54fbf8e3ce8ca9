/* trouble.h - what should work in this guest and does not: a file of one line each, /run/lima/trouble/NAME, while it is so.
 *
 * setup and services write them; the daemon tells the host of each, and when it is over. It sleeps meanwhile: the kernel
 * tells of changes in the folder, and only while a program is in trouble is a timer armed, to see whether it keeps running.
 */
#ifndef LIMA_GUESTAGENT_TROUBLE_H
#define LIMA_GUESTAGENT_TROUBLE_H

#include "guestagent/session.h"
#include "guestagent/setup_util.h"

enum { TROUBLES_MAX = 16 }; /* more are not told */

/* what: a name, of a program (`agent service NAME`) or of anything else; it becomes a file's name. */
void trouble_note(const struct setup *su, const char *what, const char *fmt, ...) ERR_FMT(3, 4);
void trouble_over(const struct setup *su, const char *what);

struct ga_troubles;

struct ga_troubles *ga_troubles_start(struct ga *ga); /* NULL, logged: none will be told */
void ga_troubles_free(struct ga_troubles *t);         /* NULL is allowed, as for the next */
void ga_troubles_send(struct ga_troubles *t);         /* all of them, to a host that knows none */

/* One, also of somebody else's; over when it has no reason. Before the first host came nothing is sent: who comes is told all. */
void ga_trouble_send(struct ga *ga, const struct ap_trouble *v);

#endif
