#include "lib/dns_message.h"

#include <string.h>
#include <strings.h>

#include "lib/be.h"
#include "lib/dns_wire.h"

size_t dns_question_pack(const struct dns_question *q, uint8_t p[DNS_QUESTION_MAX])
{
	memset(p, 0, DNS_HEADER);
	be16_put(p, q->id);
	be16_put(p + AT_FLAGS, FLAG_RECURSE);
	be16_put(p + AT_QUESTIONS, 1);
	memcpy(p + DNS_HEADER, q->wire, q->wire_len);
	return DNS_HEADER + q->wire_len;
}

size_t dns_trim(uint8_t *p, size_t n, size_t max)
{
	static const size_t counts[] = { AT_ANSWERS, AT_AUTHORITIES };
	size_t at;
	bool full = false;

	if (n < DNS_HEADER || be16_get(p + AT_QUESTIONS) != 1)
		return 0;
	at = dns_skip_name(p, n, DNS_HEADER);
	if (!at || n - at < QUESTION_FIXED)
		return 0;
	at += QUESTION_FIXED;
	for (size_t s = 0; s < sizeof(counts) / sizeof(counts[0]); s++) {
		unsigned kept = 0, all = be16_get(p + counts[s]);

		while (kept < all && !full) {
			size_t fixed, next = dns_skip_record(p, n, at, &fixed);

			if (!next)
				return 0;
			full = next > max;
			if (full)
				break;
			at = next;
			kept++;
		}
		if (kept < all)
			be16_put(p + AT_FLAGS, be16_get(p + AT_FLAGS) | FLAG_TRUNCATED);
		be16_put(p + counts[s], kept);
	}
	be16_put(p + AT_ADDITIONAL, 0);
	return at;
}

size_t dns_reply_to(uint8_t *p, size_t n, const struct dns_question *q)
{
	dns_set_id(p, q->id);
	be16_put(p + AT_FLAGS, (be16_get(p + AT_FLAGS) & ~(unsigned)FLAG_RECURSE) | FLAG_RECURSION | (q->flags & FLAG_RECURSE));
	if (!q->edns)
		return n;
	dns_put_opt(p + n, DNS_OK);
	be16_put(p + AT_ADDITIONAL, 1);
	return n + DNS_OPT_LEN;
}

void dns_set_id(uint8_t *p, uint16_t id)
{
	be16_put(p, id);
}

enum dns_rcode dns_rcode_of(const uint8_t *p)
{
	return (enum dns_rcode)(be16_get(p + AT_FLAGS) & RCODE);
}

bool dns_name_of_host(const char *name)
{
	return *name && name[strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.")] == '\0';
}

static size_t reverse_ipv4(const char *text, uint8_t addr[16])
{
	for (int i = 3; i >= 0; i--) {
		unsigned v = 0, digits = 0;

		for (; *text >= '0' && *text <= '9' && digits < 4; text++, digits++)
			v = v * 10 + (unsigned)(*text - '0');
		if (!digits || v > 255 || *text++ != '.')
			return 0;
		addr[i] = (uint8_t)v;
	}
	return strcasecmp(text, "in-addr.arpa") ? 0 : 4;
}

static size_t reverse_ipv6(const char *text, uint8_t addr[16])
{
	static const char hex[] = "0123456789abcdef";

	memset(addr, 0, 16);
	for (int i = 31; i >= 0; i--) {
		const char *digit = *text ? strchr(hex, *text | 32) : NULL;

		if (!digit || text[1] != '.')
			return 0;
		addr[i / 2] |= (uint8_t)((digit - hex) << (i % 2 ? 0 : 4));
		text += 2;
	}
	return strcasecmp(text, "ip6.arpa") ? 0 : 16;
}

size_t dns_reverse_address(const char *name, uint8_t addr[16])
{
	size_t n = reverse_ipv4(name, addr);

	return n ? n : reverse_ipv6(name, addr);
}
