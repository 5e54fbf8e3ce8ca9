#include "lib/exec_reader.h"

#include <stdlib.h>
#include <string.h>

#include "lib/le.h"

/* A record that is whole, for its owner. */
struct whole {
	struct ep_reader *r;
	const struct ep_reader_ops *ops;
	void *ctx;
	const uint8_t *p;
	size_t len;
};

static int on_start(const struct whole *w)
{
	struct ep_start s;
	int rc;

	if (ep_start_unpack(&s, w->p, w->len) < 0)
		return -1;
	rc = w->ops->start(w->ctx, &s);
	if (rc <= 0)
		return rc;
	w->r->started = true;
	ep_reader_free(w->r);
	return 1;
}

static int on_input_end(const struct whole *w)
{
	if (w->len)
		return -1;
	w->ops->input_end(w->ctx);
	return 1;
}

static int on_window(const struct whole *w)
{
	if (w->len != 4)
		return -1;
	w->ops->window(w->ctx, le16_get(w->p), le16_get(w->p + 2));
	return 1;
}

static int on_signal(const struct whole *w)
{
	if (w->len != 1 || w->p[0] < 1 || w->p[0] > 64)
		return -1;
	w->ops->signal(w->ctx, w->p[0]);
	return 1;
}

static int (*const handlers[])(const struct whole *w) = {
	[EP_START] = on_start,
	[EP_STDIN_END] = on_input_end,
	[EP_WINDOW] = on_window,
	[EP_SIGNAL] = on_signal,
};
enum { HANDLERS = sizeof(handlers) / sizeof(handlers[0]) };

/* The header is whole: what may come, and where it goes. */
static int begin_record(struct ep_reader *r)
{
	if (ep_header_unpack(r->header, &r->type, &r->left) < 0)
		return -1;
	r->have = 0;
	if (r->type == EP_START ? r->started || r->left > EP_START_MAX : !r->started)
		return -1;
	if (r->type == EP_STDIN)
		return 1;
	if ((int)r->type >= HANDLERS || !handlers[r->type])
		return -1;
	if (r->type != EP_START)
		return r->left <= EP_SMALL_RECORD ? 1 : -1;
	ep_reader_free(r);
	r->start = malloc(r->left + 1);
	return r->start ? 1 : -1;
}

/* Copies up to want unread bytes; returns the count. */
static size_t copy(struct mux_stream *m, uint8_t *to, size_t want)
{
	size_t got = 0, n;
	const uint8_t *p;

	while (got < want && (p = mux_peek(m, &n)) && n) {
		if (n > want - got)
			n = want - got;
		memcpy(to + got, p, n);
		mux_consume(m, n);
		got += n;
	}
	return got;
}

/* Input goes straight from the window to the command. False: no further now. */
static bool take_input(struct ep_reader *r, struct mux_stream *m, const struct ep_reader_ops *ops, void *ctx)
{
	const uint8_t *p;
	size_t n;

	while (r->left && (p = mux_peek(m, &n)) && n) {
		n = ops->input(ctx, p, n < r->left ? n : r->left);
		if (n == 0)
			return false;
		mux_consume(m, n);
		r->left -= n;
	}
	return r->left == 0;
}

/* A record that is not input. 1: it was whole, 2: it is not yet, else as its handler. */
static int take_whole(struct ep_reader *r, struct mux_stream *m, const struct ep_reader_ops *ops, void *ctx)
{
	uint8_t *to = r->type == EP_START ? r->start : r->small;
	size_t got = copy(m, to + r->have, r->left);

	r->have += got;
	r->left -= got;
	return r->left ? 2 : handlers[r->type](&(struct whole){ r, ops, ctx, to, r->have });
}

int ep_reader_take(struct ep_reader *r, struct mux_stream *m, const struct ep_reader_ops *ops, void *ctx)
{
	for (;;) {
		int rc;

		if (r->header_len < EP_HEADER) {
			r->header_len += copy(m, r->header + r->header_len, EP_HEADER - r->header_len);
			if (r->header_len < EP_HEADER)
				return 1;
			if (begin_record(r) < 0)
				return -1;
		}
		if (r->type == EP_STDIN)
			rc = take_input(r, m, ops, ctx) ? 1 : 2;
		else
			rc = take_whole(r, m, ops, ctx);
		if (rc != 1)
			return rc == 2 ? 1 : rc;
		r->header_len = 0;
	}
}

void ep_reader_free(struct ep_reader *r)
{
	free(r->start);
	r->start = NULL;
}
