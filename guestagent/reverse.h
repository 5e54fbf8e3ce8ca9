/* reverse.h - sockets of the guest whose connections are answered on the host (portForwards with reverse: true).
 *
 * The host says which (AP_MSG_REVERSE); what is opened to it is an index of its own list, never a path.
 */
#ifndef LIMA_GUESTAGENT_REVERSE_H
#define LIMA_GUESTAGENT_REVERSE_H

#include "guestagent/session.h"

/* AP_MSG_REVERSE: listens on these and on no others any more. What cannot be listened on is told as a trouble.
 * -1: malformed. */
int ga_reverse_message(struct ga *ga, const uint8_t *body, size_t len);
void ga_reverse_stop(struct ga *ga); /* connections go on, the sockets' files are removed */

#endif
