/* mux.h - many streams over one byte carrier that may be lost and made again.
 *
 * The engine of the host-guest channel (docs/protocol.md). It does no I/O: bytes from the carrier are fed
 * in, bytes for the carrier are taken out, and the program is told what happened through struct mux_ops.
 * Both ends run the same code, MUX_HOST and MUX_GUEST differ in the parity of the stream ids they open.
 *
 * Carrier: any ordered byte stream without a connection state of its own (virtio-serial, a unix socket).
 *   After each opening both sides send a preamble of zeros longer than any frame, then a hello; a receiver
 *   that finds no valid frame skips bytes until a hello. So both ends find each other after either restarted.
 * Epoch: random number of a process: who the peer is.
 * Resuming: streams go on over a new carrier when both sides still know the same conversation, see docs/protocol.md;
 *   else, as with a new process, every stream is reset.
 * Offsets: every stream counts its bytes from 0. What was written is kept until the peer has consumed it, at
 *   most MUX_WINDOW bytes a direction, and sent again over a new carrier from where the peer's count stands.
 *   What cannot be replayed (the guest was restored from an older state) is reset, never guessed.
 * Stream 0 carries control messages the same way; messages go out before any stream data written after them.
 */
#ifndef LIMA_MUX_H
#define LIMA_MUX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "lib/err.h"

enum {
	MUX_WINDOW = 256 * 1024,    /* bytes a stream may have in flight in one direction */
	MUX_FRAME_MAX = 32 * 1024,  /* payload bytes of one frame */
	MUX_UNIT_MAX = MUX_FRAME_MAX + 64, /* bytes of a whole frame, or anything else the carrier brings at once */
	MUX_MESSAGE_MAX = 32 * 1024, /* body bytes of one control message */
	MUX_REQUEST_MAX = 4096,     /* bytes of an open request */
	MUX_STREAMS_MAX = 65536,    /* open at once; more are refused */
	MUX_MESSAGE_FIRST = 16,     /* smaller types are the engine's own */
	MUX_PARTS = 16,             /* of mux_output_parts() */
	MUX_SHARED_MIN = 128 * 1024, /* bytes of memory worth sharing */
};

enum mux_side { MUX_HOST, MUX_GUEST };

struct mux;
struct mux_stream;

/* Why a stream was reset; carried on the wire. */
enum mux_reset_code {
	MUX_RESET_ABORT = 1,   /* the peer of the relayed connection sent a reset, or the program gave up */
	MUX_RESET_REFUSED,     /* the target refused the connection, or there is none */
	MUX_RESET_LIMIT,       /* too many streams */
	MUX_RESET_LOST,        /* the other process is a new one, or its state does not fit ours */
	MUX_RESET_PROTOCOL,    /* bytes beyond the window, unknown request */
};

/* All are called from mux_feed(), mux_carrier_open() or mux_carrier_lost(), never from the others, and may call
 * any mux function except mux_feed() and mux_free(). ctx is what mux_new() got. */
struct mux_ops {
	/* The peer has answered. resumed: it is the process we knew and the streams go on; otherwise every
	 * stream there was has been reset (reset() was called for each) before this call. */
	void (*up)(void *ctx, bool resumed);
	void (*down)(void *ctx); /* no peer for now; streams are kept */
	/* A control message sent by the peer's mux_send(). -1 when it is malformed: the link is made anew. */
	int (*message)(void *ctx, unsigned type, const uint8_t *body, size_t len);
	/* The peer opened s. Take it with mux_stream_set(), or refuse it with mux_reset(). */
	void (*open)(void *ctx, struct mux_stream *s, const uint8_t *request, size_t len);
	void (*readable)(void *ctx, struct mux_stream *s); /* new bytes, or the end, arrived */
	void (*writable)(void *ctx, struct mux_stream *s); /* half a window is free after a write that found no room */
	/* s ended abnormally. It is freed after the call. */
	void (*reset)(void *ctx, struct mux_stream *s, enum mux_reset_code code);
	/* Both directions ended and everything was consumed. s is freed after the call. */
	void (*closed)(void *ctx, struct mux_stream *s);
};

/* epoch: random, not 0, drawn once by the process. NULL when memory is short. */
struct mux *mux_new(enum mux_side side, uint64_t epoch, const struct mux_ops *ops, void *ctx);
void mux_free(struct mux *m); /* no callbacks */

/* Carrier. */
void mux_carrier_open(struct mux *m); /* a fresh carrier: forget half a frame, say hello */
void mux_carrier_lost(struct mux *m); /* calls down() if the link was up */
bool mux_is_up(const struct mux *m);
uint64_t mux_peer_epoch(const struct mux *m); /* 0 before the first hello */
/* Bytes that came from the carrier. Returns how many are done with; the rest, fewer than MUX_UNIT_MAX, is of something not
 * whole yet: the caller keeps it and gives it again with more behind it, as long as the carrier is the same. */
size_t mux_feed(struct mux *m, const uint8_t *p, size_t n);
/* Bytes that should go to the carrier now, in at most MUX_PARTS parts (for writev) of which the long ones lie where the
 * program wrote them. Returns how many parts there are, 0 when there is nothing. Valid until the next call on m. */
size_t mux_output_parts(struct mux *m, struct iovec *v);
void mux_output_done(struct mux *m, size_t n); /* n of these bytes were written, 0 too: follows each call of it */
/* Memory that the peer may see too: what the host sends much of goes by way of it while the guest's hello says that it does.
 * 8-byte aligned, the caller's, until mux_free() or the next call. NULL: none any more. Before mux_carrier_open(). */
void mux_share(struct mux *m, void *memory, size_t size);
bool mux_wants_output(const struct mux *m); /* whether there may be some; none are taken */

/* Control messages; queued while the link is down. -1 when the queue is full (1 MiB): the peer is dead. */
int mux_send(struct mux *m, unsigned type, const void *body, size_t len);

/* Bytes of messages and openings which the peer has not acknowledged. It does so every 4 KiB. */
size_t mux_unheard(const struct mux *m);

/* Asks for a sign of life: the peer acknowledges at once all messages it has heard. -1 as mux_send(). */
int mux_ping(struct mux *m);

/* Streams. ctx of a stream is the program's. */
struct mux_stream *mux_open(struct mux *m, const void *request, size_t len, void *ctx); /* NULL: limit */
void mux_stream_set(struct mux_stream *s, void *ctx);
void *mux_stream_get(const struct mux_stream *s);
uint32_t mux_stream_id(const struct mux_stream *s);
bool mux_is_heard(const struct mux_stream *s); /* the peer has acknowledged that we opened it */

/* Sending: room says how many bytes write would take now. A writer that got less than it wanted is told by writable().
 * tx_reserve returns the place for up to *n (<= room) bytes, *n set to what is contiguous; tx_commit says how many were put
 * there. It is for who takes what it gets: while many streams keep much for the peer it gives less than there is room for. */
size_t mux_room(struct mux_stream *s);
/* Whether a write would take n bytes (<= MUX_WINDOW) as a whole; if not, writable() tells of more room, not yet of that much. */
bool mux_room_for(struct mux_stream *s, size_t n);
size_t mux_write(struct mux_stream *s, const void *p, size_t n);
uint8_t *mux_tx_reserve(struct mux_stream *s, size_t *n);
void mux_tx_commit(struct mux_stream *s, size_t n);
void mux_finish(struct mux_stream *s); /* no more bytes from us; what was written still goes out */
bool mux_is_finished(const struct mux_stream *s);

/* Receiving: peek returns the contiguous unread bytes (NULL and 0 when none), valid until the callback returns or the next
 * mux_consume(). Unread bytes hold the peer back. */
const uint8_t *mux_peek(struct mux_stream *s, size_t *n);
void mux_consume(struct mux_stream *s, size_t n);
void mux_drain(struct mux_stream *s); /* what has come is dropped */
/* Copies the first n unread bytes, which stay unread; false when there are fewer. */
bool mux_copy(const struct mux_stream *s, void *p, size_t n);
bool mux_at_end(const struct mux_stream *s); /* the peer finished and all its bytes were consumed */

/* Ends s both ways at once; the peer gets reset(). s is gone for the caller when this returns. */
void mux_reset(struct mux_stream *s, enum mux_reset_code code);
/* The same, but what was written goes out first: who is sent bytes and then a reset gets both. What arrives meanwhile
 * is dropped. It waits for the link, never for the peer's program. Beyond 64 MiB that wait so it is mux_reset(). */
void mux_abort(struct mux_stream *s, enum mux_reset_code code);

/* Calls fn for each stream; fn may reset the one it is given. */
void mux_each(struct mux *m, void (*fn)(void *ctx, struct mux_stream *s), void *ctx);
size_t mux_count(const struct mux *m);

#endif
