/* dgram.h - datagrams on an AP_OPEN_UDP stream: records of u16 length and bytes, both ways.
 *
 * A datagram is written whole or not at all, and read only when all of it is there: never split, never merged.
 */
#ifndef LIMA_DGRAM_H
#define LIMA_DGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/mux.h"

enum {
	DGRAM_MAX = 65527, /* the payload of the longest UDP datagram there is (IPv6; 65507 with IPv4) */
	DGRAM_HEADER = 2,
	DGRAM_RECORD_MAX = DGRAM_HEADER + DGRAM_MAX,
};

/* One datagram with room for its header before it; large, so a program has one of it. */
struct dgram {
	size_t len; /* of the payload, 0 is a datagram too */
	uint8_t record[DGRAM_RECORD_MAX];
};

enum dgram_result {
	DGRAM_DONE,
	DGRAM_LATER,  /* write: no room, nothing was written; read: none has come as a whole */
	DGRAM_BROKEN, /* the stream is of no use any more: reset it */
};

static inline uint8_t *dgram_payload(struct dgram *d) { return d->record + DGRAM_HEADER; }

enum dgram_result dgram_write(struct mux_stream *s, struct dgram *d);
enum dgram_result dgram_read(struct mux_stream *s, struct dgram *d);
/* Whether there is room for any datagram; if not, writable() tells of more room. */
bool dgram_room(struct mux_stream *s);

#endif
