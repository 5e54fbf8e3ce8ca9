#include "lib/dns_wire.h"

#include <string.h>

#include "lib/be.h"

size_t dns_skip_name(const uint8_t *p, size_t n, size_t at)
{
	while (at < n && p[at]) {
		if ((p[at] & POINTER) == POINTER)
			return n - at < 2 ? 0 : at + 2;
		if (p[at] > DNS_LABEL_MAX)
			return 0;
		at += 1U + p[at];
	}
	return at < n ? at + 1 : 0;
}

size_t dns_skip_record(const uint8_t *p, size_t n, size_t at, size_t *fixed)
{
	size_t length;

	*fixed = at = dns_skip_name(p, n, at);
	if (!at || n - at < RECORD_FIXED)
		return 0;
	length = be16_get(p + at + 8);
	at += RECORD_FIXED;
	return length <= n - at ? at + length : 0;
}

void dns_put_opt(uint8_t *p, enum dns_rcode rcode)
{
	memset(p, 0, DNS_OPT_LEN);
	be16_put(p + 1, DNS_OPT);
	be16_put(p + 3, DNS_UDP_MAX);
	p[5] = (uint8_t)(rcode >> 4);
}
