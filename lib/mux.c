#include "lib/mux.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "lib/le.h"
#include "lib/mux_internal.h"

struct mux *mux_new(enum mux_side side, uint64_t epoch, const struct mux_ops *ops, void *ctx)
{
	struct mux *m = calloc(1, sizeof(*m));

	if (!m)
		return NULL;
	m->out = malloc(OUT_SIZE);
	m->buckets = 64;
	m->bucket = calloc(m->buckets, sizeof(*m->bucket));
	list_init(&m->streams);
	list_init(&m->ready);
	list_init(&m->credits);
	list_init(&m->dead);
	if (!m->out || !m->bucket) {
		mux_free(m);
		return NULL;
	}
	m->ops = *ops;
	m->ctx = ctx;
	m->side = side;
	m->epoch = epoch;
	m->random = epoch;
	m->next_id = side == MUX_HOST ? 1 : 2;
	return m;
}

void mux_free(struct mux *m)
{
	if (!m)
		return;
	m->depth = 0;
	while (!list_empty(&m->streams))
		stream_unlink(node_of(m->streams.next, all));
	memory_end(m);
	control_fresh(&m->control);
	free(m->bucket);
	free(m->out);
	free(m);
}

bool mux_is_up(const struct mux *m)
{
	return m->up;
}

uint64_t mux_peer_epoch(const struct mux *m)
{
	return m->peer_epoch;
}

void mux_enter(struct mux *m)
{
	m->depth++;
}

void mux_leave(struct mux *m)
{
	if (--m->depth)
		return;
	while (!list_empty(&m->dead)) {
		struct mux_stream *s = node_of(m->dead.next, all);

		list_del(&s->all);
		free(s);
	}
}

static void tell_down(struct mux *m)
{
	if (!m->down_due || !m->depth)
		return;
	m->down_due = false;
	m->ops.down(m->ctx);
}

/* Link ids must not be guessed by who only sends bytes through a stream. */
static uint64_t new_link(struct mux *m)
{
	uint64_t r = 0;

	if (getentropy(&r, sizeof(r)))
		r = m->peer;
	m->random = wire_mix(m->random, r);
	return wire_mix(m->random, ++m->links);
}

void mux_link_restart(struct mux *m)
{
	m->down_due |= m->told_up;
	m->up = m->told_up = false;
	m->link = new_link(m);
	m->peer = m->echoed = 0;
	m->preamble_due = m->hello_due = true;
	m->tx_seq = m->rx_seq = 0;
	shared_link(m);
	/* Both sides must judge the same words, so they stay as they are for the life of a link id. */
	m->mine = (struct wire_hello){
		.version = WIRE_VERSION,
		.guest = m->side == MUX_GUEST,
		.epoch = m->epoch,
		.link = m->link,
		.conversation = m->conversation,
		.rx = m->control.rx,
		.rx_hash = m->control.rx_hash,
		.tx_base = m->control.base,
		.tx_sent = m->control.high,
	};
	/* A frame half written is completed by the peer with zeros of the preamble, and refused. */
	output_drop(m);
	tell_down(m);
}

void mux_conversation_end(struct mux *m)
{
	m->conversation = 0;
	mux_link_restart(m);
}

void mux_carrier_open(struct mux *m)
{
	mux_enter(m);
	m->carriers++;
	m->carrier = true;
	m->malformed = 0;
	mux_link_restart(m);
	mux_leave(m);
}

void mux_carrier_lost(struct mux *m)
{
	mux_enter(m);
	m->carriers++;
	m->carrier = false;
	mux_link_restart(m);
	mux_leave(m);
}

static void link_up(struct mux *m)
{
	bool resumed = m->verdict && m->hello.resume;
	uint64_t host = m->side == MUX_HOST ? m->link : m->peer, guest = m->side == MUX_HOST ? m->peer : m->link;
	unsigned links = m->links;

	m->up = true;
	m->session = wire_mix(host, guest);
	m->shared.on = m->shared.memory && m->hello.shared;
	m->settled = !resumed;
	m->table_due = m->table_seen = false;
	if (resumed) {
		if (resume_begin(m) < 0)
			return;
	} else {
		m->conversation = m->session;
		control_fresh(&m->control);
		stream_fail_all(m, MUX_RESET_LOST);
	}
	if (m->links != links)
		return; /* a callback ended it, or memory was short */
	m->told_up = true;
	m->ops.up(m->ctx, resumed);
}

static void on_hello(struct mux *m, const struct wire_hello *h)
{
	if (h->guest == (m->side == MUX_GUEST))
		return; /* our own, thrown back */
	if (h->epoch != m->peer_epoch)
		m->malformed = 0;
	if (m->malformed > MALFORMED_MAX)
		return;
	if (m->up && h->link == m->peer && h->echo == m->link)
		return;
	if (m->up) {
		unsigned carriers = m->carriers;

		mux_link_restart(m);
		if (m->carriers != carriers)
			return; /* down() found a new carrier, this hello came from the old one */
	}
	m->peer = h->link;
	m->peer_epoch = h->epoch;
	m->hello = *h;
	m->verdict = resume_possible(m, h);
	if (h->echo == m->link) {
		m->hello_due |= m->echoed != m->peer;
		link_up(m);
	} else {
		m->hello_due = true;
	}
}

static int feed_shared(struct mux *m, const struct wire_frame *f);

static int dispatch(struct mux *m, const struct wire_frame *f, const uint8_t *p)
{
	switch (f->type) {
	case WIRE_RESUME:
		return resume_table(m, f, p);
	case WIRE_CONTROL:
		return f->arg == (uint32_t)m->control.rx ? control_feed(m, p, f->len) : -1;
	case WIRE_CREDIT:
		stream_credit(m, f);
		return 0;
	case WIRE_SHARED:
		return feed_shared(m, f);
	default:
		stream_data(m, f, p);
		return 0;
	}
}

/* Each takes one unit from the front of p and returns its length, or 0 when it is not whole. */

static size_t parse_hunting(struct mux *m, const uint8_t *p, size_t n)
{
	const uint8_t *at = memchr(p, wire_magic[0], n);
	struct wire_hello h;
	int len;

	if (at != p)
		return at ? (size_t)(at - p) : n;
	len = wire_hello_unpack(&h, p, n);
	if (len > 0)
		on_hello(m, &h);
	return len < 0 ? 1 : (size_t)len;
}

/* max: bytes of payload it may have */
static size_t parse_frame(struct mux *m, const uint8_t *p, size_t n, uint32_t max)
{
	struct wire_frame f;
	size_t len;
	unsigned links = m->links;

	if (p[0] == wire_magic[0]) {
		struct wire_hello h;
		int got = wire_hello_unpack(&h, p, n);

		if (got > 0)
			on_hello(m, &h);
		else if (got < 0)
			mux_link_restart(m);
		return got < 0 ? 1 : (size_t)got;
	}
	if (n < WIRE_HEADER)
		return 0;
	if (wire_header_unpack(&f, p, m->peer, m->rx_seq) < 0 || f.len > max) {
		mux_link_restart(m);
		return 1;
	}
	len = WIRE_HEADER + f.len + WIRE_TRAILER;
	if (n < len)
		return 0;
	if (le32_get(p + len - WIRE_TRAILER) != wire_trailer(&f, m->peer, m->rx_seq)) {
		/* The sender was cut off in it; a hello may already be in what was taken for payload. */
		mux_link_restart(m);
		return 1;
	}
	m->rx_seq++;
	if (dispatch(m, &f, p + WIRE_HEADER) < 0) {
		m->malformed++;
		if (m->links == links)
			mux_conversation_end(m);
	}
	return len;
}

/* The host writes no such frame among them. */
static int feed_shared(struct mux *m, const struct wire_frame *f)
{
	const uint8_t *p = shared_given(m, f);
	unsigned links = m->links, carriers = m->carriers;

	if (!p)
		return -1;
	for (size_t at = 0, used; at < f->arg; at += used) {
		used = p[at] != WIRE_SHARED ? parse_frame(m, p + at, f->arg - at, WIRE_DATA_MAX) : 0;
		if (m->links != links || m->carriers != carriers)
			return 0;
		if (!used)
			return -1;
	}
	shared_done(m);
	return 0;
}

static size_t parse(struct mux *m, const uint8_t *p, size_t n)
{
	return m->up ? parse_frame(m, p, n, MUX_FRAME_MAX) : parse_hunting(m, p, n);
}

/* Whole units from the front of p. Returns how many bytes they have; n when they came from a carrier that is no more. */
static size_t take(struct mux *m, const uint8_t *p, size_t n)
{
	unsigned carriers = m->carriers;
	size_t at = 0, used;

	while (at < n && m->carrier) {
		used = parse(m, p + at, n - at);
		if (m->carriers != carriers)
			return n;
		if (!used)
			return at;
		at += used;
	}
	return n;
}

size_t mux_feed(struct mux *m, const uint8_t *p, size_t n)
{
	unsigned carriers = m->carriers;

	mux_enter(m);
	tell_down(m);
	n = m->carriers == carriers ? take(m, p, n) : n;
	if (m->starved)
		stream_feed_starved(m);
	mux_leave(m);
	return n;
}
