#include "limactl-c/hostagent/conn.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/buf.h"
#include "lib/sock.h"
#include "limactl-c/base/mem.h"

/* The stream's buffer grows to hold one read: a whole window for a few bytes would be a waste. */
enum { READ_MAX = 64 * 1024 };

struct conns {
	struct loop *loop;
	struct guest *guest;
	struct conn *first;
	size_t count;
};

struct conn {
	struct stream st; /* first: a stream is cast to its connection */
	struct conns *all;
	struct conn *next, *prev;
	int fd; /* -1 once both directions have ended */
	struct watch *watch;
	struct buf early; /* bytes of the client that wait for the stream */
	bool job;         /* see conn_start() */
	bool in_ended;    /* the client will send no more */
	bool out_ended;   /* the guest's end was passed on */
	bool in_blocked;  /* the stream takes no more for now */
	bool out_blocked; /* the client takes no more for now */
};

static const struct stream_ops conn_ops;

static struct conn *conn_of(struct stream *st)
{
	return (struct conn *)st;
}

static void close_fd(struct conn *c)
{
	watch_free(c->watch);
	c->watch = NULL;
	if (c->fd >= 0)
		close(c->fd);
	c->fd = -1;
}

static void conn_free(struct conn *c)
{
	struct conns *cs = c->all;

	close_fd(c);
	buf_free(&c->early);
	*(c->prev ? &c->prev->next : &cs->first) = c->next;
	if (c->next)
		c->next->prev = c->prev;
	cs->count--;
	free(c);
}

/* The connection broke: the guest's side gets a reset, as the client's does. */
static void conn_abort(struct conn *c, enum mux_reset_code code)
{
	guest_abort(&c->st, code);
	if (c->fd >= 0)
		sock_reset_on_close(c->fd);
	conn_free(c);
}

static void update(struct conn *c)
{
	if (c->fd < 0)
		return;
	if (c->in_ended && c->out_ended) {
		close_fd(c); /* closed() follows when the guest has taken everything */
		return;
	}
	watch_set(c->watch, (c->st.mux && !c->in_ended && !c->in_blocked ? WATCH_READ : 0) |
				    (c->job && c->in_blocked ? WATCH_HANGUP : 0) | (c->out_blocked ? WATCH_WRITE : 0));
}

/* Client to guest. -1: c is gone. */
static int pump_in(struct conn *c)
{
	size_t n = READ_MAX;
	uint8_t *p = mux_tx_reserve(c->st.mux, &n);
	ssize_t k;

	if (!p || !n) {
		c->in_blocked = true;
		return 0;
	}
	do
		k = read(c->fd, p, n);
	while (k < 0 && errno == EINTR);
	mux_tx_commit(c->st.mux, k > 0 ? (size_t)k : 0); /* nothing: the place is given back */
	if (k > 0)
		return 0;
	if (k == 0) {
		c->in_ended = true;
		mux_finish(c->st.mux);
	} else if (errno != EAGAIN) {
		conn_abort(c, MUX_RESET_ABORT);
		return -1;
	}
	return 0;
}

/* Guest to client. -1: c is gone. */
static int pump_out(struct conn *c)
{
	const uint8_t *p;
	size_t n;

	c->out_blocked = false;
	while (c->fd >= 0 && (p = mux_peek(c->st.mux, &n)) && n) {
		ssize_t k = send(c->fd, p, n, MSG_NOSIGNAL);

		if (k >= 0) {
			mux_consume(c->st.mux, (size_t)k);
		} else if (errno == EAGAIN) {
			c->out_blocked = true;
			return 0;
		} else if (errno != EINTR) {
			conn_abort(c, MUX_RESET_ABORT);
			return -1;
		}
	}
	if (c->fd >= 0 && !c->out_ended && mux_at_end(c->st.mux)) {
		shutdown(c->fd, SHUT_WR);
		c->out_ended = true;
	}
	return 0;
}

static void on_fd(void *ctx, unsigned events)
{
	struct conn *c = ctx;

	if ((events & WATCH_HANGUP) || ((events & WATCH_ERROR) && sock_error(c->fd))) {
		conn_abort(c, MUX_RESET_ABORT);
		return;
	}
	if ((events & (WATCH_READ | WATCH_ERROR)) && !c->in_ended && pump_in(c) < 0)
		return;
	if ((events & (WATCH_WRITE | WATCH_ERROR)) && pump_out(c) < 0)
		return;
	update(c);
}

static void on_opened(struct stream *st)
{
	struct conn *c = conn_of(st);

	/* A new stream has room for a whole window, which is more than early ever holds. */
	mux_write(st->mux, c->early.data, c->early.len);
	buf_free(&c->early);
	update(c);
}

static void on_readable(struct stream *st)
{
	struct conn *c = conn_of(st);

	if (!c->out_blocked && pump_out(c) == 0)
		update(c);
}

static void on_writable(struct stream *st)
{
	struct conn *c = conn_of(st);

	c->in_blocked = false;
	update(c);
}

static void on_reset(struct stream *st, enum mux_reset_code code)
{
	struct conn *c = conn_of(st);

	(void)code;
	if (c->fd >= 0)
		sock_reset_on_close(c->fd);
	conn_free(c);
}

static void on_closed(struct stream *st)
{
	conn_free(conn_of(st));
}

static const struct stream_ops conn_ops = {
	.opened = on_opened,
	.readable = on_readable,
	.writable = on_writable,
	.reset = on_reset,
	.closed = on_closed,
};

void conn_start(struct conns *cs, int fd, bool job, const uint8_t *request, size_t len, const void *early,
		size_t early_len)
{
	struct conn *c = xcalloc(1, sizeof(*c));

	c->st.ops = &conn_ops;
	c->all = cs;
	c->fd = fd;
	c->job = job;
	c->early.max = MUX_WINDOW / 2;
	if (early_len && buf_add(&c->early, early, early_len) < 0)
		abort();
	c->next = cs->first;
	if (c->next)
		c->next->prev = c;
	cs->first = c;
	cs->count++;
	c->watch = watch_new(cs->loop, fd, on_fd, c);
	if (!c->watch)
		conn_free(c);
	else
		guest_open(cs->guest, &c->st, request, len);
}

struct conns *conns_new(struct loop *l, struct guest *g)
{
	struct conns *cs = xcalloc(1, sizeof(*cs));

	cs->loop = l;
	cs->guest = g;
	return cs;
}

void conns_free(struct conns *cs)
{
	while (cs && cs->first)
		conn_abort(cs->first, MUX_RESET_ABORT);
	free(cs);
}

size_t conns_count(const struct conns *cs)
{
	return cs->count;
}
