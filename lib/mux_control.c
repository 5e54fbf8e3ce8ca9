/* mux_control.c - stream 0: the program's messages, and the engine's own on opening and resetting streams. */
#include <stdlib.h>
#include <string.h>

#include "lib/le.h"
#include "lib/mux_internal.h"

void control_fresh(struct control *c)
{
	ring_free(&c->tx);
	free(c->part);
	*c = (struct control){ 0 };
}

int control_queue(struct mux *m, unsigned type, const void *head, size_t headlen, const void *body, size_t len,
		  size_t max)
{
	struct control *c = &m->control;
	const uint8_t header[CONTROL_HEADER] = { (uint8_t)type, 0, (uint8_t)(headlen + len),
						 (uint8_t)((headlen + len) >> 8) };
	size_t need = (size_t)(c->end - c->base) + sizeof(header) + headlen + len;

	if (need > max || ring_room(&c->tx, c->base, c->end, need, CONTROL_RING_MAX) < 0)
		return -1;
	ring_put(&c->tx, c->end, header, sizeof(header));
	ring_put(&c->tx, c->end + sizeof(header), head, headlen);
	ring_put(&c->tx, c->end + sizeof(header) + headlen, body, len);
	c->end += sizeof(header) + headlen + len;
	return 0;
}

uint64_t control_hash_at(const struct control *c, uint64_t offset)
{
	uint64_t h = c->base_hash;
	size_t part;

	for (uint64_t at = c->base; at < offset; at += part) {
		const uint8_t *p = ring_at(&c->tx, at, &part);

		if (part > offset - at)
			part = (size_t)(offset - at);
		h = wire_hash(h, p, part);
	}
	return h;
}

bool control_ack(struct control *c, uint64_t offset)
{
	if (offset < c->base || offset > c->high)
		return false;
	c->base_hash = control_hash_at(c, offset);
	c->base = offset;
	if (c->base == c->end)
		ring_free(&c->tx);
	return true;
}

void control_reset(struct mux *m, uint32_t id, uint32_t code)
{
	uint8_t head[8];

	le32_put(head, id);
	le32_put(head + 4, code);
	/* A reset that cannot be said would leave the peer with half a stream for ever. */
	if (control_queue(m, CONTROL_RESET, head, sizeof(head), NULL, 0, CONTROL_RING_MAX) < 0)
		mux_conversation_end(m);
}

int mux_send(struct mux *m, unsigned type, const void *body, size_t len)
{
	if (type < MUX_MESSAGE_FIRST || type > UINT8_MAX || len > MUX_MESSAGE_MAX)
		return -1;
	return control_queue(m, type, NULL, 0, body, len, CONTROL_QUEUE_MAX);
}

size_t mux_unheard(const struct mux *m)
{
	return (size_t)(m->control.end - m->control.base);
}

int mux_ping(struct mux *m)
{
	return control_queue(m, CONTROL_PING, NULL, 0, NULL, 0, CONTROL_QUEUE_MAX);
}

struct mux_stream *mux_open(struct mux *m, const void *request, size_t len, void *ctx)
{
	const uint32_t first = m->side == MUX_HOST ? 1 : 2;
	struct mux_stream *s;
	uint8_t head[4];

	if (len > MUX_REQUEST_MAX)
		return NULL;
	while (stream_find(m, m->next_id))
		m->next_id = m->next_id + 2 > m->next_id ? m->next_id + 2 : first;
	le32_put(head, m->next_id);
	s = stream_new(m, m->next_id);
	if (!s)
		return NULL;
	if (control_queue(m, CONTROL_OPEN, head, sizeof(head), request, len, CONTROL_QUEUE_MAX) < 0) {
		stream_unlink(s);
		return NULL;
	}
	m->next_id = m->next_id + 2 > m->next_id ? m->next_id + 2 : first;
	s->open_at = m->control.end;
	s->ctx = ctx;
	return s;
}

static int on_open(struct mux *m, const uint8_t *p, size_t len)
{
	struct mux_stream *s;
	uint32_t id;

	if (len < 4 || len > 4 + MUX_REQUEST_MAX)
		return -1;
	id = le32_get(p);
	if (!id || (id & 1) != (m->side == MUX_GUEST) || stream_find(m, id))
		return -1;
	s = stream_new(m, id);
	if (!s) {
		control_reset(m, id, MUX_RESET_LIMIT);
		return 0;
	}
	s->round = m->round;
	m->ops.open(m->ctx, s, p + 4, len - 4);
	return 0;
}

static int on_reset(struct mux *m, const uint8_t *p, size_t len)
{
	struct mux_stream *s;
	uint32_t code;

	if (len != 8)
		return -1;
	s = stream_find(m, le32_get(p));
	code = le32_get(p + 4);
	if (!s)
		return 0; /* gone here meanwhile */
	if (!code && s->fin && mux_at_end(s))
		stream_close(s);
	else if (code >= MUX_RESET_ABORT && code <= MUX_RESET_PROTOCOL)
		stream_fail(s, (enum mux_reset_code)code);
	else
		stream_fail(s, MUX_RESET_PROTOCOL);
	return 0;
}

static int on_message(struct mux *m, unsigned type, const uint8_t *p, size_t len)
{
	if (type >= MUX_MESSAGE_FIRST)
		return m->ops.message(m->ctx, type, p, len);
	switch (type) {
	case CONTROL_OPEN:
		return on_open(m, p, len);
	case CONTROL_RESET:
		return on_reset(m, p, len);
	case CONTROL_PING:
		m->credit_now = true; /* what was heard is said with every credit */
		return len ? -1 : 0;
	case CONTROL_MARK:
		return len == 8 ? resume_mark(m, le64_get(p)) : -1;
	default:
		return -1;
	}
}

/* Length of the message that begins at p, 0 while its header is not whole, -1 when it is none. */
static int message_size(const uint8_t *p, size_t n)
{
	size_t len;

	if (n < CONTROL_HEADER)
		return 0;
	len = le16_get(p + 2);
	return p[1] || len > MUX_MESSAGE_MAX ? -1 : (int)(CONTROL_HEADER + len);
}

static void count(struct control *c, const uint8_t *p, size_t n)
{
	c->rx += n;
	c->rx_hash = wire_hash(c->rx_hash, p, n);
}

/* Moves bytes to the stashed beginning of a message until it is whole. Returns how many, -1: malformed or no memory. */
static int stash(struct control *c, const uint8_t *p, size_t n)
{
	size_t taken = 0;

	if (!c->part)
		c->part = malloc(CONTROL_HEADER + MUX_MESSAGE_MAX);
	if (!c->part)
		return -1;
	while (taken < n) {
		int size = message_size(c->part, c->part_len);
		size_t want = size ? (size_t)size : CONTROL_HEADER, part;

		if (size < 0)
			return -1;
		if (c->part_len == want)
			break;
		part = want - c->part_len < n - taken ? want - c->part_len : n - taken;
		memcpy(c->part + c->part_len, p + taken, part);
		c->part_len += part;
		taken += part;
	}
	count(c, p, taken);
	return (int)taken;
}

static int feed_one(struct mux *m, const uint8_t *p, size_t n)
{
	struct control *c = &m->control;
	int size = c->part ? 0 : message_size(p, n), taken, rc;
	uint8_t *whole;

	if (size < 0)
		return -1;
	if (size && (size_t)size <= n) {
		count(c, p, (size_t)size);
		return on_message(m, p[0], p + CONTROL_HEADER, (size_t)size - CONTROL_HEADER) < 0 ? -1 : size;
	}
	taken = stash(c, p, n);
	size = taken < 0 ? -1 : message_size(c->part, c->part_len);
	if (size < 0)
		return -1;
	if (!size || c->part_len < (size_t)size)
		return taken;
	/* A callback may end the conversation, which frees what is stashed. */
	whole = c->part;
	c->part = NULL;
	c->part_len = 0;
	rc = on_message(m, whole[0], whole + CONTROL_HEADER, (size_t)size - CONTROL_HEADER);
	free(whole);
	return rc < 0 ? -1 : taken;
}

int control_feed(struct mux *m, const uint8_t *p, size_t n)
{
	const unsigned links = m->links;

	while (n && m->links == links) {
		int used = feed_one(m, p, n);

		if (used < 0)
			return -1;
		p += used;
		n -= (size_t)used;
	}
	return 0;
}
