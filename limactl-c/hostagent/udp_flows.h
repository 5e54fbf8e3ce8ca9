/* udp_flows.h - which client of which UDP port is which flow, and which flow goes when there are too many.
 *
 * Only that: no sockets, no streams, no clock; the time is the caller's. A flow is embedded in what belongs to it.
 */
#ifndef LIMA_HOSTAGENT_UDP_FLOWS_H
#define LIMA_HOSTAGENT_UDP_FLOWS_H

#include <stddef.h>
#include <stdint.h>

#include "lib/list.h"

enum {
	UDP_FLOWS_PORT_MAX = 1024, /* clients of one port at once */
	UDP_FLOWS_MAX = 4096,      /* of all */
	UDP_FLOWS_BUCKETS = 1024,
};

/* A client as a port sees it. Zeroed before it is filled: compared as bytes. */
struct udp_key {
	uint8_t peer[16], local[16]; /* its address, and ours that it sends to (zero where there is only one) */
	uint32_t scope;              /* of a link-local peer */
	uint32_t port;
};

/* The flows of one port. */
struct udp_set {
	struct node flows; /* the one that was quiet for longest first */
	size_t count;
	struct udp_set *next;
};

struct udp_flow {
	struct udp_key key;
	struct udp_set *set;
	int64_t used;             /* when something was last passed on */
	struct node in_set;
	struct udp_flow *chained; /* in the bucket */
};

struct udp_flows {
	struct udp_flow *bucket[UDP_FLOWS_BUCKETS];
	struct udp_set *sets;
	size_t count;
	uint64_t seed; /* random, so that no client can choose where its flows go */
};

void udp_flows_join(struct udp_flows *t, struct udp_set *s);
void udp_flows_leave(struct udp_flows *t, struct udp_set *s); /* it has no flows any more */

struct udp_flow *udp_flows_find(const struct udp_flows *t, const struct udp_set *s, const struct udp_key *key);
void udp_flows_add(struct udp_flows *t, struct udp_set *s, struct udp_flow *f, int64_t now); /* key is set */
void udp_flows_remove(struct udp_flows *t, struct udp_flow *f);
void udp_flows_used(struct udp_flow *f, int64_t now);

/* The flow that has to go before s can have another one, NULL when there is room. */
struct udp_flow *udp_flows_victim(const struct udp_flows *t, const struct udp_set *s);
struct udp_flow *udp_flows_oldest(const struct udp_flows *t); /* quiet for longest; NULL when there is none */
struct udp_flow *udp_set_oldest(const struct udp_set *s);     /* the same */

#endif
