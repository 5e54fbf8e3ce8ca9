#include "limactl-c/resolver/host.h"

#include <netdb.h>
#include <netinet/in.h>
#include <arpa/nameser.h>
#include <resolv.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>

#include "lib/dns_message.h"

/* getaddrinfo()'s answers, where they are not that it failed. */
static enum dns_rcode rcode_of(int status)
{
	switch (status) {
	case 0:
		return DNS_OK;
#ifdef EAI_NODATA
	case EAI_NODATA:
		return DNS_OK;
#endif
#ifdef EAI_ADDRFAMILY
	case EAI_ADDRFAMILY:
		return DNS_OK;
#endif
	case EAI_NONAME:
		return DNS_NXDOMAIN;
	default:
		return DNS_SERVFAIL;
	}
}

static enum dns_rcode host_addresses(const char *name, struct addresses *list)
{
	struct addrinfo hints = { .ai_family = list->size == 4 ? AF_INET : AF_INET6, .ai_socktype = SOCK_DGRAM };
	struct addrinfo *all = NULL;
	int status = getaddrinfo(name, NULL, &hints, &all);

	if (status)
		return rcode_of(status);
	for (const struct addrinfo *i = all; i && list->count < ADDRESSES_MAX; i = i->ai_next) {
		const void *addr = i->ai_family == AF_INET ?
					   (const void *)&((const struct sockaddr_in *)(const void *)i->ai_addr)->sin_addr :
					   &((const struct sockaddr_in6 *)(const void *)i->ai_addr)->sin6_addr;

		if (i->ai_family == hints.ai_family)
			memcpy(list->addr[list->count++], addr, list->size);
	}
	freeaddrinfo(all);
	return DNS_OK;
}

static enum dns_rcode host_name(const uint8_t *addr, size_t size, char text[DNS_NAME_TEXT])
{
	struct sockaddr_in in4 = { .sin_family = AF_INET };
	struct sockaddr_in6 in6 = { .sin6_family = AF_INET6 };
	const struct sockaddr *sa = size == 4 ? (const struct sockaddr *)&in4 : (const struct sockaddr *)&in6;

	memcpy(size == 4 ? (void *)&in4.sin_addr : &in6.sin6_addr, addr, size);
	return rcode_of(getnameinfo(sa, size == 4 ? sizeof(in4) : sizeof(in6), text, DNS_NAME_TEXT, NULL, 0, NI_NAMEREQD));
}

/* The state is made for each question, so it is resolv.conf as it is now; libresolv asks again by TCP what came truncated.
 * Who would forge an answer has to guess the id. */
static size_t host_ask(const uint8_t *question, size_t len, uint8_t *answer, size_t max)
{
	uint8_t sent[DNS_QUESTION_MAX];
	struct __res_state state;
	uint16_t id;
	int n;

	memset(&state, 0, sizeof(state));
	if (len > sizeof(sent) || getentropy(&id, sizeof(id)) < 0 || res_ninit(&state) < 0)
		return 0;
	memcpy(sent, question, len);
	dns_set_id(sent, id);
	n = res_nsend(&state, sent, (int)len, answer, (int)max);
	res_nclose(&state);
	return n > 0 && (size_t)n <= max ? (size_t)n : 0;
}

const struct host_ops host_ops = { host_addresses, host_name, host_ask };
