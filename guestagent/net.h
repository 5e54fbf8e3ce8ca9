/* net.h - a card's IPv4 address and default route. */
#ifndef LIMA_GUESTAGENT_NET_H
#define LIMA_GUESTAGENT_NET_H

#include <netinet/in.h>
#include <stdbool.h>

#include "lib/err.h"

struct net_address {
	struct in_addr address, mask, gateway; /* gateway INADDR_ANY: no default route */
};

int net_configure(const char *card, const struct net_address *a, struct err *e); /* and brings it up */
int net_clear(const char *card, struct err *e); /* up, without an address */
bool net_has_address(const char *card);

#endif
