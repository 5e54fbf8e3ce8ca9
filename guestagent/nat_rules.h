/* nat_rules.h - the ports that only a packet filter rule publishes (CNI's portmap, netavark): rules of nftables, whoever wrote
 * them (nft, or iptables on nftables), that send a TCP or UDP port elsewhere, as the kernel lists them. Pure parsing.
 *
 * Understood: one port or a range asked for by "dport", an address asked for by "daddr", and dnat or redirect, in nftables' own
 * expressions and in those that iptables hands through (match tcp, udp; target DNAT, REDIRECT). A rule that asks for its port
 * in another way (a set, another chain, as k3s does) is not.
 */
#ifndef LIMA_NAT_RULES_H
#define LIMA_NAT_RULES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/agentproto.h"

enum { NAT_RANGE_MAX = 64 }; /* ports of one rule; a wider one is not taken for published ports */

struct nat_rule {
	struct ap_port port;    /* the first; without an address in the rule: 0.0.0.0 or [::] */
	uint16_t last;          /* port */
	struct ap_port to;      /* where the first is sent */
	bool same;              /* each port to the one it stands at behind to.port; else all to that one */
};

/* A rule of a list: the message behind its netlink header. false: it publishes no port. */
bool nat_rule_parse(const uint8_t *msg, size_t n, struct nat_rule *out);

#endif
