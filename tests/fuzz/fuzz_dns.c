/* A DNS question, and the answer to it: what was asked is said again as it was, and the answer stays in its bounds. */
#include <assert.h>
#include <string.h>

#include "lib/dns.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void answer(const struct dns_question *q)
{
	static uint8_t out[DNS_UDP_MAX];
	static const uint8_t address[16];
	uint8_t wire[DNS_NAME_MAX];
	struct dns_answer a;
	size_t n;

	dns_answer_begin(&a, q, out, q->udp_max);
	while (q->rcode == DNS_OK && dns_answer_add(&a, NULL, DNS_AAAA, 1, address, sizeof(address)) == 0)
		;
	n = dns_answer_end(&a, q->rcode, true, false);
	assert(n >= DNS_HEADER + q->wire_len && n <= q->udp_max);
	assert(!memcmp(out + DNS_HEADER, q->wire, q->wire_len));
	if (q->rcode == DNS_OK) {
		assert(dns_name_pack(q->name, wire) + 4 == q->wire_len);
		assert(!memcmp(wire, q->wire, q->wire_len - 4));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct dns_question q;

	if (dns_question_read(&q, data, size) < 0)
		return 0;
	assert(strlen(q.name) < DNS_NAME_TEXT && q.udp_max >= DNS_UDP_MIN && q.udp_max <= DNS_UDP_MAX);
	answer(&q);
	return 0;
}
