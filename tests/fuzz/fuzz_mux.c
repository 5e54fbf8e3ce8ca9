/* Bytes of a hostile peer, raw and in frames that are right on the outside. Input: commands of one byte each.
 * The program under it checks what the engine promises: no byte beyond the window, no callback on a stream gone. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "lib/le.h"
#include "lib/mux_internal.h"
#include "tests/unit/feed.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { LINK = 0x1234, EPOCH = 77, MAX_STREAMS = 64 };

static uint64_t memory[MUX_SHARED_MIN / sizeof(uint64_t)]; /* shared with the peer */

struct program {
	struct mux *m;
	struct feed feed;
	uint8_t lazy; /* leaves what it gets unread */
	uint64_t link;
	bool up;
};

static void on_up(void *ctx, bool resumed)
{
	struct program *p = ctx;

	assert(!p->up);
	p->up = true;
	assert(resumed || mux_count(p->m) == 0);
	mux_send(p->m, MUX_MESSAGE_FIRST, "hello", 5);
}

static void on_down(void *ctx)
{
	struct program *p = ctx;

	assert(p->up);
	p->up = false;
}

static int on_message(void *ctx, unsigned type, const uint8_t *body, size_t len)
{
	unsigned sum = 0;

	(void)ctx;
	assert(type >= MUX_MESSAGE_FIRST && len <= MUX_MESSAGE_MAX);
	for (size_t i = 0; i < len; i++)
		sum += body[i];
	return sum % 13 == 12 ? -1 : 0;
}

static void on_open(void *ctx, struct mux_stream *s, const uint8_t *request, size_t len)
{
	struct program *p = ctx;

	assert(len <= MUX_REQUEST_MAX);
	if (mux_count(p->m) > MAX_STREAMS || (len && request[0] == 'n')) {
		mux_reset(s, MUX_RESET_REFUSED);
		return;
	}
	mux_stream_set(s, p);
	mux_write(s, request, len);
}

static void on_readable(void *ctx, struct mux_stream *s)
{
	struct program *p = ctx;
	const uint8_t *b;
	size_t n, held = 0;

	assert(mux_stream_get(s) == p);
	while ((b = mux_peek(s, &n)) && (!p->lazy || held < p->lazy)) {
		assert(n && n <= MUX_WINDOW);
		held += n;
		if (b[0] == 'R') {
			mux_reset(s, MUX_RESET_ABORT);
			return;
		}
		mux_write(s, b, n); /* an echo */
		mux_consume(s, n);
	}
	if (mux_at_end(s))
		mux_finish(s);
}

static void on_writable(void *ctx, struct mux_stream *s)
{
	assert(mux_stream_get(s) == ctx && mux_room(s) > 0);
}

static void on_reset(void *ctx, struct mux_stream *s, enum mux_reset_code code)
{
	assert(mux_stream_get(s) == ctx && code >= MUX_RESET_ABORT && code <= MUX_RESET_PROTOCOL);
}

static void on_closed(void *ctx, struct mux_stream *s)
{
	assert(mux_stream_get(s) == ctx && mux_at_end(s) && mux_is_finished(s));
}

/* Takes all output, so that it is walked over by a sanitizer. */
static void drain(struct program *p)
{
	struct iovec v[MUX_PARTS];
	const uint8_t *out;
	size_t n;

	/* First in pieces of which some stay unwritten, as where they lie may change then. */
	if (mux_output_parts(p->m, v))
		mux_output_done(p->m, v[0].iov_len / 2);
	while ((n = first_part(p->m, &out))) {
		uint8_t *copy = malloc(n);

		assert(copy);
		memcpy(copy, out, n);
		free(copy);
		mux_output_done(p->m, n);
	}
}

static void hello(struct program *p, uint8_t how)
{
	struct wire_hello h = { .version = 1, .guest = true, .epoch = EPOCH + (how & 1), .link = ++p->link };
	uint8_t b[WIRE_HELLO];

	h.echo = how & 2 ? 5 : p->m->link;
	h.shared = true;
	if (how & 4) { /* as if it knew all we said */
		h.resume = true;
		h.conversation = p->m->conversation;
		h.rx = how & 8 ? p->m->control.high : p->m->control.base;
		h.rx_hash = control_hash_at(&p->m->control, h.rx);
		h.tx_base = h.tx_sent = p->m->control.rx;
	}
	wire_hello_pack(b, &h);
	feed(&p->feed, p->m, b, sizeof(b));
}

/* A frame of the type with a body from the input; offsets mostly right, so that it gets somewhere. */
static size_t frame(struct program *p, uint8_t type, const uint8_t *d, size_t n)
{
	static uint8_t b[WIRE_FRAME_MAX];
	struct wire_frame f = { .type = type };
	struct mux_stream *s;
	size_t len, cut;

	if (n < 4)
		return n;
	f.id = d[0] & 15;
	f.flags = d[1] & 1;
	len = d[2] | (d[3] & 3) << 8;
	f.len = (uint32_t)(len < n - 4 ? len : n - 4);
	if (type == WIRE_CREDIT || type == WIRE_SHARED)
		f.len = 0;
	s = stream_find(p->m, f.id);
	if (s)
		f.arg = (uint32_t)(type == WIRE_DATA ? s->rx_received : s->tx_sent);
	if (type == WIRE_CONTROL)
		f.arg = (uint32_t)p->m->control.rx;
	f.arg += d[1] & 2 ? d[3] : 0;
	wire_header_pack(b, &f, p->m->peer, p->m->rx_seq);
	memcpy(b + WIRE_HEADER, d + 4, f.len);
	le32_put(b + WIRE_HEADER + f.len, wire_trailer(&f, p->m->peer, p->m->rx_seq));
	/* In two parts: the engine is given the first again. */
	cut = d[3] % (WIRE_HEADER + f.len + 1);
	feed(&p->feed, p->m, b, cut);
	feed(&p->feed, p->m, b + cut, WIRE_HEADER + f.len + WIRE_TRAILER - cut);
	return 4 + f.len;
}

/* The mark of this session, as an engine would send it. */
static void mark(struct program *p)
{
	uint8_t m[4 + CONTROL_HEADER + 8 + 1] = { 0, 0, CONTROL_HEADER + 8, 0, CONTROL_MARK, 0, 8, 0 };

	le64_put(m + 8, p->m->session);
	frame(p, WIRE_CONTROL, m, sizeof(m) - 1);
}

static size_t command(struct program *p, const uint8_t *d, size_t n)
{
	switch (d[0] & 15) {
	case 0:
		mux_carrier_open(p->m);
		return 1;
	case 1:
		mux_carrier_lost(p->m);
		return 1;
	case 2:
	case 3:
		hello(p, d[0] >> 4);
		return 1;
	case 4:
	case 5:
	case 6:
	case 7:
		return 1 + frame(p, (uint8_t)(WIRE_RESUME + (d[0] & 3)), d + 1, n - 1);
	case 8:
		mark(p);
		return 1;
	case 9:
		mux_open(p->m, d, 1, p);
		return 1;
	case 10:
		p->lazy = d[0] >> 4;
		return 1;
	case 12: /* the peer's word of what it is done with */
		memory[8] = p->m->link << 32 | (n > 1 ? d[1] : 0);
		return n < 2 ? n : 2;
	case 13:
		return 1 + frame(p, WIRE_SHARED, d + 1, n - 1);
	case 11:
		feed(&p->feed, p->m, d + 1, n - 1 < 20 ? n - 1 : 20);
		return n < 21 ? n : 21;
	default:
		drain(p);
		return 1;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct mux_ops ops = { on_up, on_down, on_message, on_open, on_readable, on_writable, on_reset,
					    on_closed };
	struct program p = { .link = LINK };

	p.m = mux_new(MUX_HOST, EPOCH, &ops, &p);
	assert(p.m);
	memset(memory, 0, sizeof(memory));
	mux_share(p.m, memory, sizeof(memory));
	mux_carrier_open(p.m);
	for (size_t at = 0; at < size;)
		at += command(&p, data + at, size - at);
	drain(&p);
	assert(mux_count(p.m) <= MUX_STREAMS_MAX);
	mux_free(p.m);
	return 0;
}
