/* The way of a question and of what a name server answers: the first byte says how the rest is cut, a question and an
 * answer follow. */
#include <assert.h>
#include <string.h>

#include "lib/dns_message.h"
#include "limactl-c/resolver/answer.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const uint8_t *served;
static size_t served_len;

static enum dns_rcode addresses(const char *name, struct addresses *list)
{
	assert(dns_name_of_host(name));
	list->count = served_len % 3;
	memset(list->addr, 1, sizeof(list->addr[0]) * 3);
	return (enum dns_rcode)(served_len % 4);
}

static enum dns_rcode name_of(const uint8_t *addr, size_t size, char text[DNS_NAME_TEXT])
{
	size_t n = served_len < DNS_NAME_TEXT ? served_len : DNS_NAME_TEXT - 1;

	(void)addr;
	assert(size == 4 || size == 16);
	memcpy(text, served, n);
	text[n] = '\0';
	return DNS_OK;
}

static size_t ask(const uint8_t *question, size_t len, uint8_t *p, size_t max)
{
	assert(len <= DNS_QUESTION_MAX && question[5] == 1 && served_len <= max);
	memcpy(p, served, served_len);
	return served_len;
}

/* As the guest agent does with what comes for a datagram. */
static void deliver(const struct dns_question *q, uint8_t *p, size_t n)
{
	uint8_t before[DNS_MESSAGE_MAX];
	size_t most = q->udp_max - (q->edns ? DNS_OPT_LEN : 0), k;

	k = dns_trim(p, n, most);
	assert(k <= n && (!k || k <= most || k <= DNS_QUESTION_MAX));
	memcpy(before, p, k);
	assert(!k || dns_trim(p, k, DNS_MESSAGE_MAX) == k); /* it is whole */
	assert(!memcmp(before, p, k));
	if (k && k <= most)
		assert(dns_reply_to(p, k, q) <= q->udp_max);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct host_ops host = { addresses, name_of, ask };
	static uint8_t out[DNS_MESSAGE_MAX + DNS_OPT_LEN];
	struct answerer a = { .host = &host, .ipv6 = size & 1 };
	struct dns_question q;
	size_t cut, n;

	if (size < 1 || size > DNS_MESSAGE_MAX - DNS_OPT_LEN)
		return 0;
	cut = data[0] < size - 1 ? data[0] : size - 1;
	served = data + 1 + cut;
	served_len = size - 1 - cut;
	answerer_add(&a, "fixed=192.0.2.1", 15);
	answerer_add(&a, (const char *)served, served_len);
	n = answer(&a, data + 1, cut, out);
	assert(n <= DNS_MESSAGE_MAX && (!n || n >= DNS_HEADER));
	if (n && dns_question_read(&q, data + 1, cut) == 0 && q.rcode == DNS_OK)
		deliver(&q, out, n);
	answerer_fini(&a);
	return 0;
}
