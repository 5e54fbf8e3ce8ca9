/* mux_internal.h - what the parts of the engine share. Private to lib/mux*.c.
 *
 *   mux.c          the object, the link: hello, up and down, bytes in
 *   mux_output.c   bytes out: what is sent next
 *   mux_control.c  stream 0: messages, opening and resetting of streams
 *   mux_stream.c   the streams, what the program does with them
 *   mux_receive.c  what the peer says about them
 *   mux_memory.c   their buffers
 *   mux_shared.c   memory that both sides see
 *   mux_resume.c   going on with the streams over a new link
 */
#ifndef LIMA_MUX_INTERNAL_H
#define LIMA_MUX_INTERNAL_H

#include "lib/list.h"
#include "lib/mux.h"
#include "lib/mux_wire.h"
#include "lib/ring.h"

enum {
	CONTROL_HEADER = 4,                     /* u8 type, u8 0, u16 length */
	CONTROL_QUEUE_MAX = 1 << 20,            /* for messages of the program and opens */
	CONTROL_RING_MAX = 2 * CONTROL_QUEUE_MAX, /* resets may use the rest */
	CONTROL_ACK = 4096,                     /* bytes received before they are acknowledged on their own account */
	CREDIT_SMALL = 16 * 1024,               /* consumed bytes worth a frame of their own when all is read */
	OUT_SIZE = 4 * WIRE_FRAME_MAX + WIRE_HELLO_MAX + MUX_PARTS * (WIRE_HEADER + WIRE_TRAILER),
	RING_SMALL = 16 * 1024,                 /* a stream that holds more gets all it may have, see memory_window() */
	SPARES = 16, TINIES = 8,                /* buffers kept for the next */
	LEAVING_MAX = 64 << 20,                 /* bytes of buffers kept for streams that the program has let go of */
	SHARED_PLACES = 32,                     /* handed over and not done with */
	MALFORMED_MAX = 16,                     /* a peer process that broke the protocol so often gets no more answers */
};

/* The engine's own control messages. */
enum control_type {
	CONTROL_OPEN = 1, /* u32 stream, request */
	CONTROL_RESET,    /* u32 stream, u32 code; 0 = both directions are done */
	CONTROL_MARK,     /* u64 session: the table of streams and all older messages came before */
	CONTROL_PING,     /* nothing: say CREDIT at once */
};

#define node_of(n, member) list_item(n, struct mux_stream, member)

/* A walk over all streams, kept right when a callback removes some. */
struct cursor {
	struct node *at;
	struct cursor *outer;
};

enum stream_state {
	STREAM_LIVE,
	STREAM_LEAVING, /* the program has let go of it: what was written still goes out, then the reset */
	STREAM_DOOMED, /* reset() is still to be called */
	STREAM_GONE,   /* nothing more is said about it; memory kept while callbacks run */
};

struct mux_stream {
	struct mux *mux;
	void *ctx;
	struct mux_stream *hash_next;
	struct node all, ready, credit; /* membership: every stream; has unsent bytes; owes a CREDIT */
	uint32_t id;
	uint32_t round; /* of the last table of the peer that listed it */
	uint8_t state;
	uint8_t code; /* of the reset, when STREAM_LEAVING */
	bool fin;     /* mux_finish() was called */
	bool rx_fin;  /* the peer's end was received */
	bool want;    /* writable() is owed */
	bool wide;    /* counted in mux.wide */
	uint32_t left; /* counted in mux.leaving */
	uint64_t open_at; /* end of our OPEN in the control stream, 0 when the peer opened it */

	/* Offsets from 0; the end of a stream counts as one more byte in all but tx_end. */
	struct ring tx, rx;
	const uint8_t *direct; /* while readable() runs: what has just come, not in rx */
	uint64_t direct_at;    /* its offset */
	uint64_t tx_base; /* consumed by the peer, as far as we know */
	uint64_t tx_sent, tx_high; /* sent on this link; sent on any */
	uint64_t tx_end;  /* written, without the end */
	uint64_t rx_consumed, rx_received, rx_credited;
};

struct control {
	struct ring tx;
	uint64_t base, sent, high, end; /* as above; acknowledged bytes are dropped */
	uint64_t base_hash;             /* of all bytes before base */
	uint64_t rx, rx_hash, rx_acked;
	uint8_t *part; /* a message of which only part_len bytes have come, NULL when none */
	size_t part_len;
};

struct shared_places {
	uint8_t *memory; /* NULL: there is none */
	size_t size;
	bool on;             /* the host's: the guest of this link sees it */
	uint32_t made, done; /* places of frames on this link: handed over, done with */
	size_t place[SHARED_PLACES], head; /* where they begin, and where the next will */
};

struct mux {
	struct mux_ops ops;
	void *ctx;
	enum mux_side side;
	uint64_t epoch, random;

	/* Link: one attempt of both sides to talk, named by the pair of their link ids. */
	uint64_t link, peer, peer_epoch, session;
	uint64_t echoed;       /* the peer's link our last hello on this link named */
	uint64_t conversation; /* what stream offsets belong to; ends when a link-up cannot resume it. 0 = none */
	struct wire_hello mine;  /* what our hellos on this link say, all but echo and resume */
	struct wire_hello hello; /* the peer's last */
	bool verdict;          /* our judgement of it: can be resumed */
	bool carrier, up, told_up, preamble_due, hello_due;
	bool down_due;         /* down() is owed: the link ended outside of a place that may call back */
	bool starved;          /* a write found no memory */
	unsigned carriers, links; /* counted, to notice a change made by a callback */
	unsigned malformed;
	uint32_t tx_seq, rx_seq;

	/* Resuming: no stream bytes leave before settled. */
	bool settled, table_due, table_seen;
	struct node *table_at;
	uint32_t round;

	struct control control;
	struct shared_places shared;
	struct node streams, ready, credits, dead;
	bool credit_now;
	struct cursor *cursors;
	struct mux_stream **bucket;
	size_t buckets, count;
	size_t leaving; /* bytes of the buffers of those in STREAM_LEAVING */
	uint32_t next_id;
	struct ring spare[SPARES], tiny[TINIES];
	unsigned spares, tinies;
	size_t spare_bytes;
	unsigned wide; /* streams that keep more than RING_SMALL for the peer */
	unsigned depth; /* of callbacks: no stream is freed while not 0 */

	/* Output that was taken from the streams and is not written. Parts from part_at on lie in out or in a stream's ring. */
	struct iovec part[MUX_PARTS];
	unsigned part_at, parts;
	bool spread;      /* some lie in a ring: until mux_output_done() */
	uint8_t *out;     /* OUT_SIZE, of which out_len bytes are used */
	size_t out_len;
	size_t out_total; /* bytes of all parts */
};

/* mux.c */
void mux_link_restart(struct mux *m); /* gives up the link, if any, and begins another */
void mux_conversation_end(struct mux *m); /* what was said is void: the next link-up is a fresh one */
void mux_enter(struct mux *m);
void mux_leave(struct mux *m); /* frees what callbacks gave up */

/* mux_output.c */
void output_drop(struct mux *m); /* what was not written yet belongs to a link that is no more */

/* mux_control.c */
void control_fresh(struct control *c);
int control_queue(struct mux *m, unsigned type, const void *head, size_t headlen, const void *body, size_t len,
		  size_t max);
bool control_ack(struct control *c, uint64_t offset); /* false: not between base and high */
uint64_t control_hash_at(const struct control *c, uint64_t offset); /* base <= offset <= end */
void control_reset(struct mux *m, uint32_t id, uint32_t code); /* says so to the peer */
/* -1: malformed. Stops early when a callback ended the link. */
int control_feed(struct mux *m, const uint8_t *p, size_t n);

/* mux_stream.c */
struct mux_stream *stream_find(const struct mux *m, uint32_t id);
struct mux_stream *stream_new(struct mux *m, uint32_t id); /* NULL: memory, or too many */
void stream_unlink(struct mux_stream *s); /* forgets it; freed when no callback runs */
void stream_fail(struct mux_stream *s, enum mux_reset_code code); /* reset() and forget it */
void stream_fail_all(struct mux *m, enum mux_reset_code code);
void stream_close(struct mux_stream *s); /* closed() and forget it */
void stream_ready(struct mux_stream *s); /* puts it in line when it has unsent bytes */
bool stream_tx_done(const struct mux_stream *s);
void stream_tell_writable(struct mux_stream *s);
void stream_feed_starved(struct mux *m);
bool stream_leave(struct mux_stream *s); /* true: STREAM_LEAVING, all is said; it was reset and is forgotten */
void stream_each(struct mux *m, void (*fn)(void *ctx, struct mux_stream *s), void *ctx); /* those leaving too */

/* mux_receive.c */
void stream_consumed(struct mux_stream *s, size_t n);
void stream_data(struct mux *m, const struct wire_frame *f, const uint8_t *p);
void stream_credit(struct mux *m, const struct wire_frame *f);
void stream_advance(struct mux_stream *s, uint64_t consumed); /* the peer consumed so much */

/* mux_shared.c */
void shared_link(struct mux *m);               /* another link begins: nothing of the former is read any more */
bool shared_is_seen(const struct mux *m);      /* guest: the host of the last hello shares the memory we have */
uint8_t *shared_take(struct mux *m, size_t n, uint32_t *at); /* host: a place for n bytes; NULL: not now */
const uint8_t *shared_given(struct mux *m, const struct wire_frame *f); /* guest: its frames; NULL: malformed */
void shared_done(struct mux *m);               /* guest: with the oldest */

/* mux_memory.c: -1 is for want of memory */
size_t memory_window(const struct mux *m); /* bytes a stream may keep for the peer now; less when many keep much */
int memory_tx(struct mux_stream *s, size_t need); /* room for need bytes from tx_base on */
int memory_rx(struct mux_stream *s, size_t need); /* from rx_consumed on */
void memory_tx_empty(struct mux_stream *s); /* nothing is kept for the peer, nothing unread */
void memory_rx_empty(struct mux_stream *s);
/* The place for much was reserved, and little came: that awaits its acknowledgement in a small buffer, or thousands of idle
 * streams would keep a window each. */
void memory_tx_settle(struct mux_stream *s);
void memory_free(struct mux_stream *s);
void memory_end(struct mux *m); /* frees what is kept for the next */

/* mux_resume.c */
bool resume_possible(const struct mux *m, const struct wire_hello *h);
int resume_begin(struct mux *m);
int resume_table(struct mux *m, const struct wire_frame *f, const uint8_t *p);
int resume_mark(struct mux *m, uint64_t session);

#endif
