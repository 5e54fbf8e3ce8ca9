/* answer.h - what a question of the guest is answered: names given in the template first, then what the host knows. */
#ifndef LIMA_RESOLVER_ANSWER_H
#define LIMA_RESOLVER_ANSWER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/dns.h"

enum { ADDRESSES_MAX = 4096 };

/* Addresses of one name. */
struct addresses {
	size_t size;  /* of each, 4 or 16: which kind is wanted */
	size_t count;
	uint8_t addr[ADDRESSES_MAX][16];
};

/* The host's resolver. Each call may block. */
struct host_ops {
	/* Fills list. NXDOMAIN: the name has no address of that kind, which says nothing of the other; OK with none: it exists
	 * without. */
	enum dns_rcode (*addresses)(const char *name, struct addresses *list);
	/* The name of an address of size 4 or 16. */
	enum dns_rcode (*name)(const uint8_t *addr, size_t size, char text[DNS_NAME_TEXT]);
	/* Asks the host's name servers this message; returns the length of the answer, 0 when there was none. */
	size_t (*ask)(const uint8_t *question, size_t len, uint8_t *answer, size_t max);
};

/* A name of the template; its value is an address or a name. */
struct fixed_name {
	char *name, *value;
};

enum { FIXED_NAMES_MAX = 4096 };

struct answerer {
	const struct host_ops *host;
	bool ipv6; /* else no name has an IPv6 address */
	struct fixed_name *fixed;
	size_t count;
};

/* "NAME=VALUE", n bytes; the first of a name counts. False when it is none. */
bool answerer_add(struct answerer *a, const char *text, size_t n);
void answerer_fini(struct answerer *a);

/* Whether answer() will ask the host, which may block. */
bool answer_needs_host(const struct answerer *a, const uint8_t *question, size_t n);

/* Answers a message; returns the answer's length, 0 when there is nothing to answer. */
size_t answer(const struct answerer *a, const uint8_t *question, size_t n, uint8_t out[DNS_MESSAGE_MAX]);

#endif
