/* socks_proto.h - the two messages of a SOCKS5 client (RFC 1928), as they come in, and the answers. */
#ifndef LIMA_GUESTAGENT_SOCKS_PROTO_H
#define LIMA_GUESTAGENT_SOCKS_PROTO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum {
	SOCKS_MESSAGE_MAX = 262, /* of both: a request for the longest name */
	SOCKS_NAME_MAX = 255,
	SOCKS_REPLY = 10,
};

enum socks_reply {
	SOCKS_OK = 0,
	SOCKS_FAILED = 1,
	SOCKS_NETWORK = 3, /* unreachable, like the next */
	SOCKS_HOST = 4,
	SOCKS_REFUSED = 5,
	SOCKS_COMMAND = 7, /* none but CONNECT is known */
	SOCKS_ADDRESS = 8, /* a kind of address nobody knows */
};

struct socks_request {
	char host[SOCKS_NAME_MAX + 1]; /* a name, or an address as text */
	uint16_t port;
	enum socks_reply refusal; /* SOCKS_OK: none; else nothing above is set */
};

/* Both look at the n bytes that have come so far and return how many of them the message has, 0 while it is not whole, -1 when
 * it is no SOCKS5. */
ssize_t socks_greeting(const uint8_t *p, size_t n, bool *acceptable); /* the client can do without a password */
ssize_t socks_request(const uint8_t *p, size_t n, struct socks_request *r);

void socks_reply_pack(uint8_t p[SOCKS_REPLY], enum socks_reply reply);

#endif
