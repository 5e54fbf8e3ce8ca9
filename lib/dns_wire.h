/* dns_wire.h - what a DNS message is made of; for lib/dns*.c alone. */
#ifndef LIMA_DNS_WIRE_H
#define LIMA_DNS_WIRE_H

#include <stddef.h>
#include <stdint.h>

#include "lib/dns.h"

enum {
	/* Places in the header, behind the id; those of the sections are counts. */
	AT_FLAGS = 2,
	AT_QUESTIONS = 4,
	AT_ANSWERS = 6,
	AT_AUTHORITIES = 8,
	AT_ADDITIONAL = 10,

	FLAG_RESPONSE = 0x8000,
	FLAG_AUTHORITATIVE = 0x0400,
	FLAG_TRUNCATED = 0x0200,
	FLAG_RECURSE = 0x0100,
	FLAG_RECURSION = 0x0080,
	FLAG_UNCHECKED = 0x0010,
	OPCODE = 0x7800,
	RCODE = 0x000f,

	POINTER = 0xc0,     /* the two bits that make a length the place of a name */
	QUESTION_FIXED = 4, /* behind its name: type, class */
	RECORD_FIXED = 10,  /* type, class, time to live, length of what follows */
};

/* Where the name at `at`, compressed or not, ends; 0 when it does not within n bytes. */
size_t dns_skip_name(const uint8_t *p, size_t n, size_t at);
/* Where the record at `at` ends, 0 when it is cut short; *fixed: where its name does. */
size_t dns_skip_record(const uint8_t *p, size_t n, size_t at, size_t *fixed);

/* Writes the DNS_OPT_LEN bytes of our OPT record. */
void dns_put_opt(uint8_t *p, enum dns_rcode rcode);

#endif
