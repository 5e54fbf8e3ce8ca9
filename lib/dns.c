#include "lib/dns.h"

#include <string.h>

#include "lib/be.h"
#include "lib/dns_wire.h"

enum { NAME_ASKED = 0xc000 | DNS_HEADER };

/* --- a question --- */

/* Whether text can say the label. */
static bool plain_label(const uint8_t *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (p[i] < ' ' || p[i] == 0x7f || p[i] == '.' || p[i] == '\\')
			return false;
	return true;
}

/* The name at p, uncompressed. Its bytes on the wire, 0 when it is none; *plain whether text holds it. */
static size_t read_name(const uint8_t *p, size_t n, char text[DNS_NAME_TEXT], bool *plain)
{
	size_t at = 0, len = 0;

	*plain = true;
	while (at < n && p[at]) {
		size_t label = p[at++];

		/* The root's byte must still fit. */
		if (label > DNS_LABEL_MAX || label >= n - at || at + label >= DNS_NAME_MAX)
			return 0;
		*plain = *plain && plain_label(p + at, label);
		if (len)
			text[len++] = '.';
		memcpy(text + len, p + at, label);
		len += label;
		at += label;
	}
	text[len] = '\0';
	return at < n ? at + 1 : 0;
}

/* The record at `at`, behind the question; where it ends, 0 when it is cut short or not to be there. */
static size_t read_extra(struct dns_question *q, const uint8_t *p, size_t n, size_t at)
{
	size_t fixed, end = dns_skip_record(p, n, at, &fixed);

	if (end && be16_get(p + fixed) == DNS_OPT) {
		unsigned size = be16_get(p + fixed + 2);

		if (q->edns || fixed != at + 1) /* another name than the root */
			return 0;
		q->edns = true;
		q->udp_max = (uint16_t)(size < DNS_UDP_MIN ? DNS_UDP_MIN : size > DNS_UDP_MAX ? DNS_UDP_MAX : size);
		if (p[fixed + 5]) /* the version; nothing but 0 was ever defined */
			q->rcode = DNS_BADVERS;
	}
	return end;
}

static enum dns_rcode read_sections(struct dns_question *q, const uint8_t *p, size_t n)
{
	size_t at = DNS_HEADER, len;
	bool plain;

	if (q->flags & OPCODE)
		return DNS_NOTIMP;
	if (be16_get(p + AT_QUESTIONS) != 1 || be16_get(p + AT_ANSWERS) || be16_get(p + AT_AUTHORITIES))
		return DNS_FORMERR;
	len = read_name(p + at, n - at, q->name, &plain);
	if (!len || n - at - len < QUESTION_FIXED)
		return DNS_FORMERR;
	q->type = be16_get(p + at + len);
	q->wire_len = len + QUESTION_FIXED;
	memcpy(q->wire, p + at, q->wire_len);
	at += q->wire_len;
	for (unsigned extra = be16_get(p + AT_ADDITIONAL); extra; extra--) {
		at = read_extra(q, p, n, at);
		if (!at)
			return DNS_FORMERR;
	}
	if (at != n)
		return DNS_FORMERR;
	if (q->rcode != DNS_OK)
		return q->rcode;
	if (be16_get(q->wire + q->wire_len - 2) != DNS_IN)
		return DNS_REFUSED;
	return plain ? DNS_OK : DNS_NXDOMAIN;
}

int dns_question_read(struct dns_question *q, const uint8_t *p, size_t n)
{
	*q = (struct dns_question){ .udp_max = DNS_UDP_MIN };
	if (n < DNS_HEADER || be16_get(p + AT_FLAGS) & FLAG_RESPONSE)
		return -1;
	q->id = be16_get(p);
	q->flags = be16_get(p + AT_FLAGS);
	q->rcode = read_sections(q, p, n);
	return 0;
}

/* --- an answer --- */

size_t dns_name_pack(const char *text, uint8_t wire[DNS_NAME_MAX])
{
	size_t at = 0;

	if (!strcmp(text, "."))
		text++;
	while (*text) {
		size_t n = strcspn(text, ".");

		if (!n || n > DNS_LABEL_MAX || at + 1 + n >= DNS_NAME_MAX)
			return 0;
		wire[at++] = (uint8_t)n;
		memcpy(wire + at, text, n);
		at += n;
		text += n + (text[n] == '.');
	}
	wire[at++] = 0;
	return at;
}

void dns_answer_begin(struct dns_answer *a, const struct dns_question *q, uint8_t *p, size_t max)
{
	/* Room for what dns_answer_end() adds. */
	*a = (struct dns_answer){ .q = q, .data = p, .len = DNS_HEADER + q->wire_len, .max = max - (q->edns ? DNS_OPT_LEN : 0) };
	memset(p, 0, DNS_HEADER);
	memcpy(p + DNS_HEADER, q->wire, q->wire_len);
}

int dns_answer_add(struct dns_answer *a, const char *owner, enum dns_type type, uint32_t ttl, const void *rdata, size_t n)
{
	uint8_t name[DNS_NAME_MAX], *p;
	size_t len = 2;

	be16_put(name, NAME_ASKED);
	if (owner)
		len = dns_name_pack(owner, name);
	if (!len)
		return -1;
	if (a->truncated || a->max - a->len < len + RECORD_FIXED || a->max - a->len - len - RECORD_FIXED < n) {
		a->truncated = true;
		return -1;
	}
	p = a->data + a->len;
	memcpy(p, name, len);
	p += len;
	be16_put(p, type);
	be16_put(p + 2, DNS_IN);
	be32_put(p + 4, ttl);
	be16_put(p + 8, (uint16_t)n);
	if (n)
		memcpy(p + RECORD_FIXED, rdata, n);
	a->len += len + RECORD_FIXED + n;
	a->records++;
	return 0;
}

size_t dns_answer_end(struct dns_answer *a, enum dns_rcode rcode, bool authoritative, bool recursion)
{
	const struct dns_question *q = a->q;
	unsigned asked = q->flags & (OPCODE | FLAG_RECURSE | FLAG_UNCHECKED);

	be16_put(a->data, q->id);
	be16_put(a->data + AT_FLAGS, FLAG_RESPONSE | asked | (authoritative ? FLAG_AUTHORITATIVE : 0) |
		 (a->truncated ? FLAG_TRUNCATED : 0) | (recursion ? FLAG_RECURSION : 0) | (rcode & RCODE));
	be16_put(a->data + AT_QUESTIONS, q->wire_len ? 1 : 0);
	be16_put(a->data + AT_ANSWERS, a->records);
	be16_put(a->data + AT_AUTHORITIES, 0);
	be16_put(a->data + AT_ADDITIONAL, q->edns ? 1 : 0);
	if (q->edns) {
		dns_put_opt(a->data + a->len, rcode);
		a->len += DNS_OPT_LEN;
	}
	return a->len;
}
