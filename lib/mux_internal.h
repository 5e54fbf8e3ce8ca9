/* mux_internal.h - what the parts of the engine share. Private to lib/mux*.c.
 *
 *   mux.c          the object, the link: hello, up and down, bytes in
 *   mux_output.c   bytes out: what is sent next
 *   mux_control.c  stream 0: messages, opening and resetting of streams
 *   mux_stream.c   the streams and their buffers
 *   mux_resume.c   going on with the streams over a new link
 */
#ifndef LIMA_MUX_INTERNAL_H
#define LIMA_MUX_INTERNAL_H

#include "lib/mux.h"
#include "lib/mux_wire.h"
#include "lib/ring.h"

enum {
	CONTROL_HEADER = 4,                     /* u8 type, u8 0, u16 length */
	CONTROL_QUEUE_MAX = 1 << 20,            /* for messages of the program and opens */
	CONTROL_RING_MAX = 2 * CONTROL_QUEUE_MAX, /* resets may use the rest */
	CONTROL_ACK = 4096,                     /* bytes received before they are acknowledged on their own account */
	CREDIT_SMALL = 16 * 1024,               /* consumed bytes worth a frame of their own when all is read */
	OUT_SIZE = 4 * WIRE_FRAME_MAX + WIRE_HELLO_MAX,
	RING_SMALL = 16 * 1024,                 /* a stream that holds more gets a whole window */
	SPARES = 2,                             /* windows kept for the next: one for each direction */
	MALFORMED_MAX = 16,                     /* a peer process that broke the protocol so often gets no more answers */
};

/* The engine's own control messages. */
enum control_type {
	CONTROL_OPEN = 1, /* u32 stream, request */
	CONTROL_RESET,    /* u32 stream, u32 code; 0 = both directions are done */
	CONTROL_MARK,     /* u64 session: the table of streams and all older messages came before */
};

struct node {
	struct node *prev, *next; /* both NULL when in no list */
};
#define node_of(n, member) ((struct mux_stream *)((char *)(n) - offsetof(struct mux_stream, member)))

/* A walk over all streams, kept right when a callback removes some. */
struct cursor {
	struct node *at;
	struct cursor *outer;
};

enum stream_state {
	STREAM_LIVE,
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
	bool fin;     /* mux_finish() was called */
	bool rx_fin;  /* the peer's end was received */
	bool want;    /* writable() is owed */
	uint64_t open_at; /* end of our OPEN in the control stream, 0 when the peer opened it */

	/* Offsets from 0; the end of a stream counts as one more byte in all but tx_end. */
	struct ring tx, rx;
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
	struct node streams, ready, credits, dead;
	bool credit_now;
	struct cursor *cursors;
	struct mux_stream **bucket;
	size_t buckets, count;
	uint32_t next_id;
	struct ring spare[SPARES];
	unsigned spares;
	unsigned depth; /* of callbacks: no stream is freed while not 0 */

	uint8_t *in; /* WIRE_FRAME_MAX: a frame of which only in_len bytes have come */
	size_t in_len;
	uint8_t *out; /* OUT_SIZE */
	size_t out_at, out_len;
};

static inline void list_init(struct node *head) { head->prev = head->next = head; }
static inline bool list_empty(const struct node *head) { return head->next == head; }
static inline bool node_listed(const struct node *n) { return n->next; }
static inline void list_add(struct node *head, struct node *n)
{
	n->prev = head->prev;
	n->next = head;
	head->prev->next = n;
	head->prev = n;
}
static inline void list_del(struct node *n)
{
	if (!n->next)
		return;
	n->prev->next = n->next;
	n->next->prev = n->prev;
	n->prev = n->next = NULL;
}

/* mux.c */
void mux_link_restart(struct mux *m); /* gives up the link, if any, and begins another */
void mux_conversation_end(struct mux *m); /* what was said is void: the next link-up is a fresh one */
void mux_enter(struct mux *m);
void mux_leave(struct mux *m); /* frees what callbacks gave up */

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
void stream_data(struct mux *m, const struct wire_frame *f, const uint8_t *p);
void stream_credit(struct mux *m, const struct wire_frame *f);
void stream_advance(struct mux_stream *s, uint64_t consumed); /* the peer consumed so much */
void stream_tell_writable(struct mux_stream *s);
void stream_feed_starved(struct mux *m);

/* mux_resume.c */
bool resume_possible(const struct mux *m, const struct wire_hello *h);
int resume_begin(struct mux *m);
int resume_table(struct mux *m, const struct wire_frame *f, const uint8_t *p);
int resume_mark(struct mux *m, uint64_t session);

#endif
