/* dns.h - DNS messages (RFC 1035, EDNS of RFC 6891): a question read, an answer built. Nothing here opens a socket. */
#ifndef LIMA_DNS_H
#define LIMA_DNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	DNS_PORT = 53,
	DNS_HEADER = 12,
	DNS_NAME_MAX = 255, /* bytes of a name on the wire, with the root's */
	DNS_LABEL_MAX = 63,
	DNS_NAME_TEXT = 254, /* a name as text, with NUL */
	DNS_UDP_MIN = 512,   /* what every asker takes over UDP */
	DNS_UDP_MAX = 4096,  /* more is not sent over UDP, whatever the asker says */
	DNS_MESSAGE_MAX = 65535,
	DNS_OPT_LEN = 11, /* of the OPT record that an asker with EDNS gets in its answer */
	DNS_IN = 1, /* the only class served */
};

enum dns_type {
	DNS_A = 1,
	DNS_NS = 2,
	DNS_CNAME = 5,
	DNS_SOA = 6,
	DNS_PTR = 12,
	DNS_MX = 15,
	DNS_TXT = 16,
	DNS_AAAA = 28,
	DNS_SRV = 33,
	DNS_OPT = 41,
	DNS_ANY = 255,
};

enum dns_rcode {
	DNS_OK = 0,
	DNS_FORMERR = 1,
	DNS_SERVFAIL = 2,
	DNS_NXDOMAIN = 3,
	DNS_NOTIMP = 4,
	DNS_REFUSED = 5,
	DNS_BADVERS = 16,
};

struct dns_question {
	uint16_t id, flags;       /* as they came */
	enum dns_rcode rcode;     /* DNS_OK, or what it must be answered with: then nothing below but edns need be set */
	char name[DNS_NAME_TEXT]; /* labels with dots between them, in the asker's case; "" is the root */
	uint16_t type;
	bool edns;
	uint16_t udp_max;         /* bytes an answer over UDP may have: DNS_UDP_MIN … DNS_UDP_MAX */
	uint8_t wire[DNS_NAME_MAX + 4]; /* the question as it came, to be said again in the answer */
	size_t wire_len;                /* 0 when it could not be read */
};

/* Reads a whole message. -1 when it is to be left without an answer: no header, or an answer itself. Refused by rcode: not
 * exactly one question of class IN, a compressed or too long name, records cut short, bytes behind the end; a name with a
 * label that text cannot say (with a dot, backslash or control character) is DNS_NXDOMAIN, since no host has it. */
int dns_question_read(struct dns_question *q, const uint8_t *p, size_t n);

/* An answer in the making, in memory of the caller's. */
struct dns_answer {
	const struct dns_question *q;
	uint8_t *data;
	size_t len, max;
	uint16_t records;
	bool truncated;
};

/* max is at least DNS_UDP_MIN: the question's udp_max, or DNS_MESSAGE_MAX over TCP. q and p must outlive a. */
void dns_answer_begin(struct dns_answer *a, const struct dns_question *q, uint8_t *p, size_t max);
/* A record of the answer section. owner NULL is the name asked for, else text. Names within rdata are not compressed
 * (dns_name_pack). -1 when the name is none or there is no room: then the answer says that it was truncated, and takes no more. */
int dns_answer_add(struct dns_answer *a, const char *owner, enum dns_type type, uint32_t ttl, const void *rdata, size_t n);
/* Bytes of the whole. authoritative sets AA; recursion says whether any name may be asked (RA). */
size_t dns_answer_end(struct dns_answer *a, enum dns_rcode rcode, bool authoritative, bool recursion);

/* Text, with or without a final dot, to the wire; its length, or 0 when it is no name: an empty or too long label. */
size_t dns_name_pack(const char *text, uint8_t wire[DNS_NAME_MAX]);

#endif
