/* mux_wire.h - frames and hello of the channel as bytes (docs/protocol.md). Private to lib/mux*. */
#ifndef LIMA_MUX_WIRE_H
#define LIMA_MUX_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/mux.h"

enum {
	WIRE_VERSION = 1,
	WIRE_HEADER = 16,
	WIRE_TRAILER = 4,
	WIRE_FRAME_MAX = WIRE_HEADER + MUX_FRAME_MAX + WIRE_TRAILER, /* on a carrier */
	WIRE_DATA_MAX = 128 * 1024, /* bytes of a stream in one frame of the shared memory */
	/* Zeros before a hello: enough to complete any frame that was cut, and one more header. */
	WIRE_PREAMBLE = WIRE_FRAME_MAX + WIRE_HEADER,
	WIRE_MAGIC = 16,
	WIRE_HELLO = 92,      /* bytes of our hello */
	WIRE_HELLO_MAX = 256, /* a later version may append members */
	WIRE_RECORD = 40,     /* one stream in a RESUME frame */
};

enum wire_type {
	WIRE_RESUME = 1, /* a list of struct wire_record */
	WIRE_CONTROL,    /* bytes of the control stream, arg = offset */
	WIRE_CREDIT,     /* arg = offset consumed */
	WIRE_DATA,       /* bytes of a stream, arg = offset */
	WIRE_SHARED,     /* arg bytes of frames come here, which lie in the shared memory from id on; host to guest */
	WIRE_TYPES,
};

enum {
	WIRE_LAST = 1, /* RESUME: no more follow */
	WIRE_FIN = 1,  /* DATA: the stream ends behind these bytes */
};

struct wire_frame {
	uint8_t type;
	uint8_t flags;
	uint32_t len; /* of the payload */
	uint32_t id;  /* of the stream */
	uint32_t arg; /* low half of an offset */
};

/* Header and trailer are keyed with the sender's link id and the number of the frame on that link: a frame cut
 * short, lost, repeated or left over from another link does not match. */
void wire_header_pack(uint8_t p[WIRE_HEADER], const struct wire_frame *f, uint64_t link, uint32_t seq);
int wire_header_unpack(struct wire_frame *f, const uint8_t p[WIRE_HEADER], uint64_t link, uint32_t seq);
uint32_t wire_trailer(const struct wire_frame *f, uint64_t link, uint32_t seq); /* never 0 */

struct wire_hello {
	uint16_t version;
	bool guest;            /* which side sent it */
	bool shared;           /* the guest sees the host's link, the one it echoes, in the memory they share */
	bool resume;           /* the sender can go on with the session, judged from the hello it echoes */
	uint64_t epoch;        /* process */
	uint64_t link;         /* this attempt of the sender */
	uint64_t echo;         /* the peer's link, 0 = not known yet */
	uint64_t conversation; /* what the offsets below belong to, 0 = none */
	uint64_t rx, rx_hash;  /* control bytes received, and their hash */
	uint64_t tx_base;      /* control bytes still kept begin here … */
	uint64_t tx_sent;      /* … and have been sent up to here */
};

void wire_hello_pack(uint8_t p[WIRE_HELLO], const struct wire_hello *h);
/* p begins with the first byte of the magic. Returns the hello's length when it is whole and right, 0 when it is
 * not whole yet, -1 when it is none. */
int wire_hello_unpack(struct wire_hello *h, const uint8_t *p, size_t n);
extern const uint8_t wire_magic[WIRE_MAGIC];

struct wire_record {
	uint32_t id;
	uint64_t rx_received, rx_consumed; /* offsets include one for the end of the stream */
	uint64_t tx_base, tx_sent;
};

void wire_record_pack(uint8_t p[WIRE_RECORD], const struct wire_record *r);
void wire_record_unpack(struct wire_record *r, const uint8_t p[WIRE_RECORD]);

uint64_t wire_mix(uint64_t a, uint64_t b); /* of two ids, not 0 */
uint64_t wire_hash(uint64_t h, const uint8_t *p, size_t n); /* goes on with h; begins with 0 */

#endif
