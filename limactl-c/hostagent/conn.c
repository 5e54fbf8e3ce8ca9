#include "limactl-c/hostagent/conn.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/clock.h"
#include "lib/sock.h"
#include "limactl-c/base/mem.h"
#include "limactl-c/hostagent/conn_own.h"

/* The stream's buffer grows to hold one read: a whole window for a few bytes would be a waste. */
enum { READ_MAX = 64 * 1024 };

static const struct stream_ops conn_ops;

static struct conn *conn_of(struct stream *st)
{
	return (struct conn *)st;
}

/* --- ends --- */

static void close_fd(struct conn *c)
{
	watch_free(c->watch);
	c->watch = NULL;
	if (c->fd >= 0)
		close(c->fd);
	c->fd = -1;
}

void conn_free(struct conn *c)
{
	struct conns *cs = c->all;

	conn_note_gone(c);
	close_fd(c);
	buf_free(&c->early);
	list_del(&c->in_list);
	cs->count--;
	if (c->tally)
		c->tally->now--;
	tally_drop(c->tally);
	free(c);
}

/* The connection broke: the guest's side gets a reset, as the client's does. */
void conn_abort(struct conn *c, enum mux_reset_code code)
{
	guest_abort(&c->st, code);
	if (c->fd >= 0)
		sock_reset_on_close(c->fd);
	conn_free(c);
}

void conn_update(struct conn *c)
{
	unsigned events;

	if (c->fd < 0)
		return;
	if (c->in_ended && c->out_ended) {
		close_fd(c); /* closed() follows when the guest has taken everything */
		return;
	}
	events = ((c->st.mux || conn_is_unopened(c)) && !c->in_ended && !c->in_blocked && !conn_owes(c) ? WATCH_READ : 0) |
		 (c->kind == CONN_JOB && c->in_blocked ? WATCH_HANGUP : 0) | (c->out_blocked ? WATCH_WRITE : 0);
	if (!events)
		watch_breaks(c->watch);
	watch_set(c->watch, events);
}

/* --- both ways --- */

/* Client to guest. 1: there may be more, 0: not now, -1: c is gone. */
static int pump_in(struct conn *c)
{
	size_t n = READ_MAX;
	uint8_t *p;
	ssize_t k;

	if (conn_holds(c))
		return conn_hold(c);
	p = mux_tx_reserve(c->st.mux, &n);
	if (!p || !n) {
		c->in_blocked = true;
		return 0;
	}
	do
		k = read(c->fd, p, n);
	while (k < 0 && errno == EINTR);
	if (k > 0 && c->docker)
		docker_conn_hurries(c->docker);
	if (k > 0)
		conn_note_asked(c, p, (size_t)k);
	mux_tx_commit(c->st.mux, k > 0 ? (size_t)k : 0); /* nothing: the place is given back */
	if (k > 0) {
		if (c->tally)
			c->tally->to_guest += (uint64_t)k;
		return 1;
	}
	if (k == 0 && !c->broken) {
		c->in_ended = true;
		mux_finish(c->st.mux);
	} else if (k == 0 || errno != EAGAIN) {
		conn_abort(c, MUX_RESET_ABORT);
		return -1;
	}
	return 0;
}

/* What the client sent before its connection broke is passed on, if the stream has room. -1: c is gone. */
static int pump_rest(struct conn *c)
{
	int more = 1;

	while (more > 0 && (c->st.mux || conn_is_unopened(c)) && !c->in_ended)
		more = pump_in(c);
	return more < 0 ? -1 : 0;
}

/* Guest to client. -1: c is gone. */
static int pump_out(struct conn *c)
{
	const uint8_t *p;
	size_t n;

	c->out_blocked = false;
	if (conn_owes(c) && conn_pay(c) < 0)
		return -1;
	if (conn_owes(c) || !c->st.mux)
		return 0;
	while (c->fd >= 0 && (p = mux_peek(c->st.mux, &n)) && n) {
		ssize_t k = send(c->fd, p, n, MSG_NOSIGNAL);

		if (k >= 0) {
			conn_note_answered(c, p, (size_t)k);
			mux_consume(c->st.mux, (size_t)k);
			if (c->tally)
				c->tally->to_host += (uint64_t)k;
		} else if (errno == EAGAIN) {
			c->out_blocked = true;
			return 0;
		} else if (errno != EINTR) {
			c->broken = true;
			if (pump_rest(c) == 0)
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

/* Whether the connection is broken, and c gone. A unix socket tells no error when its peer has closed: while there is no
 * stream to say the end to, it is one. */
static bool broke(struct conn *c)
{
	if (pump_rest(c) < 0)
		return true;
	if (!sock_error(c->fd) && c->st.mux)
		return false;
	conn_abort(c, MUX_RESET_ABORT);
	return true;
}

static void on_fd(void *ctx, unsigned events)
{
	struct conn *c = ctx;

	if (events & WATCH_HANGUP) {
		conn_abort(c, MUX_RESET_ABORT);
		return;
	}
	if ((events & WATCH_ERROR) && broke(c))
		return;
	if ((events & (WATCH_READ | WATCH_ERROR)) && !c->in_ended && pump_in(c) < 0)
		return;
	if ((events & (WATCH_WRITE | WATCH_ERROR)) && pump_out(c) < 0)
		return;
	conn_update(c);
}

static void on_opened(struct stream *st)
{
	struct conn *c = conn_of(st);

	/* A new stream has room for a whole window, which is more than early ever holds. */
	if (c->early.len)
		conn_note_asked(c, c->early.data, c->early.len);
	mux_write(st->mux, c->early.data, c->early.len);
	buf_free(&c->early);
	/* Most clients speak first, and have by now: so the guest wakes up once for both. */
	if (pump_in(c) >= 0)
		conn_update(c);
}

static void on_readable(struct stream *st)
{
	struct conn *c = conn_of(st);

	if (!c->out_blocked && pump_out(c) == 0)
		conn_update(c);
}

static void on_writable(struct stream *st)
{
	struct conn *c = conn_of(st);

	c->in_blocked = false;
	conn_update(c);
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

static struct conn *conn_new(struct conns *cs, struct tally *t, int fd, enum conn_kind kind)
{
	struct conn *c = xcalloc(1, sizeof(*c));

	c->st.ops = &conn_ops;
	c->all = cs;
	c->fd = fd;
	c->kind = kind;
	c->tally = tally_keep(t);
	if (t) {
		t->now++;
		t->total++;
	}
	list_add(&cs->list, &c->in_list);
	cs->count++;
	conn_note_begun(c);
	c->watch = watch_new(cs->loop, fd, on_fd, c);
	return c;
}

void conn_start(struct conns *cs, struct tally *t, int fd, enum conn_kind kind, const uint8_t *request, size_t len,
		const void *early, size_t early_len)
{
	struct conn *c = conn_new(cs, t, fd, kind);

	if (c->docker && c->docker->recall && !early_len) {
		c->docker->request = xmalloc(len);
		memcpy(c->docker->request, request, len);
		c->docker->request_len = len;
	}
	c->st.in_a_hurry = kind != CONN_JOB; /* a command's user can end it */
	c->early.max = MUX_WINDOW / 2;
	if (early_len && buf_add(&c->early, early, early_len) < 0)
		abort();
	if (!c->watch) {
		conn_free(c);
		return;
	}
	if (conn_is_unopened(c)) {
		conn_update(c);
		return;
	}
	if (!guest_is_up(cs->guest))
		watch_breaks(c->watch); /* who gives up before there is a link is not kept */
	guest_open(cs->guest, &c->st, request, len);
}

void conn_answer(struct conns *cs, struct tally *t, int fd, struct mux_stream *m)
{
	struct conn *c = conn_new(cs, t, fd, CONN_SOCKET);

	if (!c->watch) {
		mux_reset(m, MUX_RESET_LIMIT);
		conn_free(c);
		return;
	}
	guest_take(cs->guest, &c->st, m);
	conn_update(c);
}

struct conns *conns_new(struct loop *l, struct guest *g)
{
	struct conns *cs = xcalloc(1, sizeof(*cs));

	list_init(&cs->list);
	cs->loop = l;
	cs->guest = g;
	return cs;
}

void conns_free(struct conns *cs)
{
	while (cs && !list_empty(&cs->list))
		conn_abort(list_item(cs->list.next, struct conn, in_list), MUX_RESET_ABORT);
	free(cs);
}

void conns_recall(struct conns *cs, struct recall *r)
{
	cs->recall = r;
}

size_t conns_count(const struct conns *cs)
{
	return cs->count;
}
