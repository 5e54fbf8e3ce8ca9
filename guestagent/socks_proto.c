#include "guestagent/socks_proto.h"

#include <arpa/inet.h>
#include <string.h>

#include "lib/be.h"

enum { VERSION_5 = 5, NO_PASSWORD = 0, CONNECT = 1, TYPE_IPV4 = 1, TYPE_NAME = 3, TYPE_IPV6 = 4, REQUEST_FIXED = 4 };

ssize_t socks_greeting(const uint8_t *p, size_t n, bool *acceptable)
{
	if (n && p[0] != VERSION_5)
		return -1;
	if (n < 2 || n < 2u + p[1])
		return 0;
	*acceptable = memchr(p + 2, NO_PASSWORD, p[1]) != NULL;
	return 2 + p[1];
}

/* Bytes of the address behind the fixed part, its length included; 0: not known yet, -1: a kind nobody knows. */
static ssize_t address_length(const uint8_t *p, size_t n)
{
	switch (p[3]) {
	case TYPE_IPV4:
		return 4;
	case TYPE_IPV6:
		return 16;
	case TYPE_NAME:
		return n > REQUEST_FIXED ? 1 + p[REQUEST_FIXED] : 0;
	default:
		return -1;
	}
}

static bool read_host(struct socks_request *r, uint8_t type, const uint8_t *p)
{
	if (type != TYPE_NAME)
		return inet_ntop(type == TYPE_IPV4 ? AF_INET : AF_INET6, p, r->host, sizeof(r->host)) != NULL;
	if (!p[0] || memchr(p + 1, 0, p[0]))
		return false;
	memcpy(r->host, p + 1, p[0]);
	return true;
}

ssize_t socks_request(const uint8_t *p, size_t n, struct socks_request *r)
{
	ssize_t address;

	memset(r, 0, sizeof(*r));
	if ((n > 0 && p[0] != VERSION_5) || (n > 2 && p[2]))
		return -1;
	if (n < REQUEST_FIXED)
		return 0;
	address = address_length(p, n);
	if (address < 0) {
		/* How long it is nobody knows either: it is answered, and nothing is read behind it. */
		r->refusal = SOCKS_ADDRESS;
		return (ssize_t)n;
	}
	if (!address || n < REQUEST_FIXED + (size_t)address + 2)
		return 0;
	r->port = be16_get(p + REQUEST_FIXED + address);
	if (p[1] != CONNECT)
		r->refusal = SOCKS_COMMAND;
	else if (!read_host(r, p[3], p + REQUEST_FIXED) || !r->port)
		r->refusal = SOCKS_FAILED;
	return REQUEST_FIXED + address + 2;
}

void socks_reply_pack(uint8_t p[SOCKS_REPLY], enum socks_reply reply)
{
	/* The address we connected from is nobody's concern: 0.0.0.0:0. */
	memset(p, 0, SOCKS_REPLY);
	p[0] = VERSION_5;
	p[1] = (uint8_t)reply;
	p[3] = TYPE_IPV4;
}
