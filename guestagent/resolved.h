/* resolved.h - systemd-resolved asks a name server by the card it was told on, past the route to ours, and would ask the
 * network's. So it is told of ours on the card that leads there: it forgets that with the card, and asks the network's while the
 * card is down.
 */
#ifndef LIMA_GUESTAGENT_RESOLVED_H
#define LIMA_GUESTAGENT_RESOLVED_H

#include <stdint.h>

#include "guestagent/session.h"
#include "guestagent/setup_util.h"

/* Has it ask addr (IPv4) by way of card for all names but those of domains that another card's servers have for themselves.
 * Does nothing where it does not run. */
int resolved_use(const struct setup *su, const char *card, const uint8_t addr[4], struct err *e);

void resolved_tell(struct ga *ga, const char *card, const uint8_t addr[4]); /* in a child nobody waits for; in a guest only */

#endif
