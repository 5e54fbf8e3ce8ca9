#include "limactl-c/resolver/answer.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "lib/cleanup.h"
#include "lib/dns_message.h"
#include "limactl-c/base/mem.h"

enum {
	TTL = 5,          /* seconds: the host remembers what it has asked, and its networks change */
	ALIASES_MAX = 16, /* from a given name to a given name */
};

/* A question being answered. */
struct asking {
	const struct answerer *a;
	struct dns_question q;
	struct dns_answer out;
	uint8_t *data; /* DNS_MESSAGE_MAX bytes */
};

static bool is_address(const char *text)
{
	uint8_t addr[16];

	return inet_pton(AF_INET, text, addr) == 1 || inet_pton(AF_INET6, text, addr) == 1;
}

bool answerer_add(struct answerer *a, const char *text, size_t n)
{
	auto_free char *name = xstrndup(text, n);
	char *value = strchr(name, '=');
	uint8_t wire[DNS_NAME_MAX];

	if (!value || a->count == FIXED_NAMES_MAX)
		return false;
	*value++ = '\0';
	if (!*name || !dns_name_pack(name, wire) || (!is_address(value) && !(dns_name_of_host(value) && dns_name_pack(value, wire))))
		return false;
	a->fixed = xrealloc_array(a->fixed, a->count + 1, sizeof(*a->fixed));
	a->fixed[a->count].value = xstrdup(value);
	a->fixed[a->count++].name = steal(&name);
	return true;
}

void answerer_fini(struct answerer *a)
{
	for (size_t i = 0; i < a->count; i++) {
		free(a->fixed[i].name);
		free(a->fixed[i].value);
	}
	free(a->fixed);
	a->fixed = NULL;
	a->count = 0;
}

static const struct fixed_name *find(const struct answerer *a, const char *name)
{
	for (size_t i = 0; i < a->count; i++)
		if (!strcasecmp(a->fixed[i].name, name))
			return &a->fixed[i];
	return NULL;
}

static bool asks_address(const struct asking *k)
{
	return k->q.type == DNS_A || k->q.type == DNS_AAAA;
}

static size_t finish(struct asking *k, enum dns_rcode rcode)
{
	if (rcode != DNS_OK)
		dns_answer_begin(&k->out, &k->q, k->data, DNS_MESSAGE_MAX);
	return dns_answer_end(&k->out, rcode, false, true);
}

/* --- what the host's functions know --- */

/* Whether the name is there at all: then what it has not is no reason to say that it is not. */
static bool exists(const struct answerer *a, const char *name)
{
	auto_free struct addresses *list = xcalloc(1, sizeof(*list));

	for (list->size = 4; list->size <= 16; list->size += 12) {
		list->count = 0;
		if (a->host->addresses(name, list) == DNS_OK)
			return true;
	}
	return false;
}

/* The addresses of name, under owner (NULL: the name asked for). */
static enum dns_rcode add_addresses(struct asking *k, const char *name, const char *owner)
{
	auto_free struct addresses *list = xcalloc(1, sizeof(*list));
	enum dns_rcode rcode;

	if (k->q.type == DNS_AAAA && !k->a->ipv6)
		return DNS_OK;
	list->size = k->q.type == DNS_A ? 4 : 16;
	rcode = k->a->host->addresses(name, list);
	for (size_t i = 0; rcode == DNS_OK && i < list->count; i++)
		dns_answer_add(&k->out, owner, k->q.type, TTL, list->addr[i], list->size);
	return rcode == DNS_NXDOMAIN && exists(k->a, name) ? DNS_OK : rcode;
}

/* --- names of the template --- */

/* Follows given names; what stands at the end is an address or a name of the world. */
static enum dns_rcode add_fixed(struct asking *k, const struct fixed_name *f)
{
	const char *owner = NULL;

	for (int step = 0; step < ALIASES_MAX; step++) {
		uint8_t data[DNS_NAME_MAX];

		if (inet_pton(AF_INET, f->value, data) == 1) {
			if (k->q.type == DNS_A)
				dns_answer_add(&k->out, owner, DNS_A, TTL, data, 4);
			return DNS_OK;
		}
		if (inet_pton(AF_INET6, f->value, data) == 1) {
			if (k->q.type == DNS_AAAA && k->a->ipv6)
				dns_answer_add(&k->out, owner, DNS_AAAA, TTL, data, 16);
			return DNS_OK;
		}
		dns_answer_add(&k->out, owner, DNS_CNAME, TTL, data, dns_name_pack(f->value, data));
		owner = f->value;
		f = find(k->a, owner);
		if (!f)
			return asks_address(k) ? add_addresses(k, owner, owner) : DNS_OK;
	}
	return DNS_SERVFAIL;
}

/* The first given name with that address. */
static const char *find_reverse(const struct answerer *a, const uint8_t *addr, size_t size)
{
	for (size_t i = 0; i < a->count; i++) {
		uint8_t own[16];

		if (inet_pton(size == 4 ? AF_INET : AF_INET6, a->fixed[i].value, own) == 1 && !memcmp(own, addr, size))
			return a->fixed[i].name;
	}
	return NULL;
}

static size_t answer_reverse(struct asking *k, const uint8_t *addr, size_t size)
{
	const char *name = find_reverse(k->a, addr, size);
	char text[DNS_NAME_TEXT];
	uint8_t data[DNS_NAME_MAX];
	enum dns_rcode rcode = name ? DNS_OK : k->a->host->name(addr, size, text);
	size_t n;

	if (rcode != DNS_OK)
		return finish(k, rcode);
	n = dns_name_pack(name ? name : text, data);
	if (!n)
		return finish(k, DNS_SERVFAIL);
	dns_answer_add(&k->out, NULL, DNS_PTR, TTL, data, n);
	return finish(k, DNS_OK);
}

/* --- whatever else --- */

static size_t ask(struct asking *k)
{
	uint8_t question[DNS_QUESTION_MAX];
	size_t n = dns_question_pack(&k->q, question);

	n = k->a->host->ask(question, n, k->data, DNS_MESSAGE_MAX - DNS_OPT_LEN);
	n = n ? dns_trim(k->data, n, DNS_MESSAGE_MAX) : 0;
	/* A name of /etc/hosts alone is not known to name servers. */
	if (n && dns_rcode_of(k->data) == DNS_NXDOMAIN && dns_name_of_host(k->q.name) && exists(k->a, k->q.name)) {
		dns_answer_begin(&k->out, &k->q, k->data, DNS_MESSAGE_MAX);
		return finish(k, DNS_OK);
	}
	return n ? dns_reply_to(k->data, n, &k->q) : finish(k, DNS_SERVFAIL);
}

/* What functions of the host would take for an address is no name of anything. */
static bool known_to_functions(const char *name)
{
	struct in_addr a;

	return dns_name_of_host(name) && !inet_aton(name, &a);
}

static size_t answer_question(struct asking *k)
{
	const struct dns_question *q = &k->q;
	const struct fixed_name *f = find(k->a, q->name);
	uint8_t addr[16];
	size_t size;

	if (f)
		return finish(k, add_fixed(k, f));
	if (asks_address(k) && known_to_functions(q->name))
		return finish(k, add_addresses(k, q->name, NULL));
	if (q->type == DNS_AAAA && !k->a->ipv6)
		return finish(k, DNS_OK);
	size = q->type == DNS_PTR ? dns_reverse_address(q->name, addr) : 0;
	return size ? answer_reverse(k, addr, size) : ask(k);
}

/* Questions about zones as a whole, which no stub asks. */
static bool is_transfer(uint16_t type)
{
	enum { IXFR = 251, MAILA = 254 };

	return type >= IXFR && type <= MAILA;
}

size_t answer(const struct answerer *a, const uint8_t *question, size_t n, uint8_t out[DNS_MESSAGE_MAX])
{
	struct asking k = { .a = a, .data = out };

	if (dns_question_read(&k.q, question, n) < 0)
		return 0;
	if (k.q.rcode == DNS_OK && is_transfer(k.q.type))
		k.q.rcode = DNS_REFUSED;
	dns_answer_begin(&k.out, &k.q, out, DNS_MESSAGE_MAX);
	return k.q.rcode == DNS_OK ? answer_question(&k) : finish(&k, k.q.rcode);
}

/* Where the given names end that begin with f: NULL at an address, or nowhere. */
static const char *end_of_fixed(const struct answerer *a, const struct fixed_name *f)
{
	const char *end = NULL;

	for (int step = 0; step < ALIASES_MAX && f; step++) {
		if (is_address(f->value))
			return NULL;
		end = f->value;
		f = find(a, end);
	}
	return f ? NULL : end;
}

bool answer_needs_host(const struct answerer *a, const uint8_t *question, size_t n)
{
	struct asking k = { .a = a };
	const struct fixed_name *f;
	uint8_t addr[16];
	size_t size;

	if (dns_question_read(&k.q, question, n) < 0 || k.q.rcode != DNS_OK || is_transfer(k.q.type))
		return false;
	if (k.q.type == DNS_AAAA && !a->ipv6)
		return false;
	f = find(a, k.q.name);
	if (f)
		return asks_address(&k) && end_of_fixed(a, f);
	size = k.q.type == DNS_PTR ? dns_reverse_address(k.q.name, addr) : 0;
	return !size || !find_reverse(a, addr, size);
}
