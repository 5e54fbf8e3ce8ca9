/* dhcp.h - the address by DHCP, where the network's is not known beforehand (net.address=dhcp): busybox's udhcpc asks, and
 * again before a lease ends; what it is told comes back to `agent dhcp EVENT`. */
#ifndef LIMA_GUESTAGENT_DHCP_H
#define LIMA_GUESTAGENT_DHCP_H

#include "guestagent/net.h"
#include "guestagent/setup_util.h"

enum { DHCP_DNS_MAX = 8 };

/* What udhcpc puts into its script's environment. */
struct dhcp_lease {
	char card[16];
	struct net_address net;
	char dns[DHCP_DNS_MAX][INET_ADDRSTRLEN];
	size_t dns_count;
};

int dhcp_lease_read(struct dhcp_lease *l, struct err *e); /* from the environment; a server may say anything */
int dhcp_name_servers(const struct setup *su, const struct dhcp_lease *l, struct err *e); /* unless the template has its own */

/* Waits for the first lease, at most wait_ms; without one the client goes on asking, and the error says so. */
int dhcp_start(const struct setup *su, const char *card, int wait_ms, struct err *e);
int dhcp_main(int argc, char **argv); /* `agent dhcp bound|renew|deconfig|…` */

#endif
