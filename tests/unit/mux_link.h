/* mux_link.h - two engines joined without anything between, and one stream from the host's to the guest's: for what lies
 * on a stream. Without cmocka, so that a fuzz target can have it too. */
#ifndef TESTS_MUX_LINK_H
#define TESTS_MUX_LINK_H

#include <stdbool.h>
#include <stdlib.h>

#include "tests/unit/feed.h"

struct mux_link {
	struct mux *host, *guest;
	struct feed feed[2]; /* of the host, of the guest */
	struct mux_stream *from, *to; /* of the host, of the guest; NULL when it has ended */
	unsigned writable;            /* calls for from */
	void (*readable)(struct mux_link *l, struct mux_stream *s); /* may be NULL */
};

static void link_up(void *ctx, bool resumed)
{
	(void)ctx;
	(void)resumed;
}

static void link_down(void *ctx)
{
	(void)ctx;
}

static int link_message(void *ctx, unsigned type, const uint8_t *body, size_t len)
{
	(void)ctx;
	(void)type;
	(void)body;
	(void)len;
	return 0;
}

static void link_open(void *ctx, struct mux_stream *s, const uint8_t *request, size_t len)
{
	(void)request;
	(void)len;
	((struct mux_link *)ctx)->to = s;
}

static void link_readable(void *ctx, struct mux_stream *s)
{
	struct mux_link *l = ctx;

	if (l->readable)
		l->readable(l, s);
}

static void link_writable(void *ctx, struct mux_stream *s)
{
	struct mux_link *l = ctx;

	l->writable += s == l->from;
}

static void link_gone(void *ctx, struct mux_stream *s)
{
	struct mux_link *l = ctx;

	*(s == l->from ? &l->from : &l->to) = NULL;
}

static void link_reset(void *ctx, struct mux_stream *s, enum mux_reset_code code)
{
	(void)code;
	link_gone(ctx, s);
}

static const struct mux_ops link_ops = {
	link_up, link_down, link_message, link_open, link_readable, link_writable, link_reset, link_gone,
};

/* Moves n bytes at most at a time, so that frames come in pieces too; until both are silent. */
static void link_run(struct mux_link *l, size_t piece)
{
	const uint8_t *p;
	size_t n, moved;

	do {
		moved = 0;
		for (int side = 0; side < 2; side++) {
			struct mux *from = side ? l->guest : l->host, *to = side ? l->host : l->guest;

			n = first_part(from, &p);
			n = n < piece ? n : piece;
			if (!n)
				continue;
			feed(&l->feed[!side], to, p, n);
			mux_output_done(from, n);
			moved += n;
		}
	} while (moved);
}

static void link_begin(struct mux_link *l)
{
	*l = (struct mux_link){ .host = mux_new(MUX_HOST, 1, &link_ops, l), .guest = mux_new(MUX_GUEST, 2, &link_ops, l) };
	if (!l->host || !l->guest)
		abort();
	mux_carrier_open(l->host);
	mux_carrier_open(l->guest);
	link_run(l, SIZE_MAX);
	l->from = mux_open(l->host, "x", 1, NULL);
	link_run(l, SIZE_MAX);
	if (!l->from || !l->to)
		abort();
}

static void link_end(struct mux_link *l)
{
	mux_free(l->host);
	mux_free(l->guest);
}

#endif
