/* dns_record.h - the records in which questions and answers pass between guest agent, host agent and resolver: u32 id,
 * u16 length, a message (docs/protocol.md). */
#ifndef LIMA_DNS_RECORD_H
#define LIMA_DNS_RECORD_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/le.h"
#include "lib/mux.h"

enum {
	DNS_RECORD_HEADER = 6,
	DNS_IN_FLIGHT = 256, /* questions without an answer, at most */
};

static inline void dns_record_pack(uint8_t h[DNS_RECORD_HEADER], uint32_t id, size_t n)
{
	le32_put(h, id);
	le16_put(h + 4, (uint16_t)n);
}

static inline uint32_t dns_record_id(const uint8_t h[DNS_RECORD_HEADER]) { return le32_get(h); }
static inline size_t dns_record_len(const uint8_t h[DNS_RECORD_HEADER]) { return le16_get(h + 4); } /* of the message */

/* The next record on s, header and message, when all of it is there. Returns its bytes, 0 when it is not; -1 when it is
 * longer than max, which has room for a header. */
ssize_t dns_record_read(struct mux_stream *s, uint8_t *p, size_t max);

#endif
