#include "guestagent/relay.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>
#include <unistd.h>

#include "lib/log.h"
#include "lib/sock.h"

enum {
	RELAY_EVENTS = EPOLLIN | EPOLLRDHUP | EPOLLET,
	CHUNK_FIRST = 512,       /* most say little, and a buffer of that size costs no system call (lib/mux_memory.c) */
	CHUNK = 64 * 1024,       /* a window at once would cost two system calls for its memory */
	RETRY_MS = 20,       /* a unix socket's backlog is full: there is no event for room in it */
	RETRIES_MAX = 250,
};

struct relay {
	struct ga_stream stream;
	struct ga_watch watch;
	struct ga_timer retry;
	struct sockaddr_storage addr;
	socklen_t addr_len;
	unsigned retries;
	unsigned chunk;           /* bytes read at once */
	bool connecting;
	bool can_read, can_write; /* since the last edge, no call has said EAGAIN */
	bool read_done;           /* the socket's end was passed on */
	bool write_done;          /* the stream's end was passed on, or the socket takes no more */
	bool reset_seen;          /* the socket's peer sent a reset while we wrote */
	bool broken;              /* a write failed, so the connection ends as soon as all is read */
	bool alarmed;             /* the kernel told of an error that no call has returned yet */
};

static void relay_free(struct relay *r)
{
	struct ga_loop *loop = &r->stream.ga->loop;

	ga_timer_stop(loop, &r->retry);
	ga_loop_close(loop, &r->watch);
	free(r);
}

static void relay_fail(struct relay *r, enum mux_reset_code code)
{
	ga_stream_reset(&r->stream, code);
	if (r->watch.fd >= 0)
		sock_reset_on_close(r->watch.fd);
	relay_free(r);
}

/* Socket to stream. False when the relay was reset and is gone. */
static bool pump_from_socket(struct relay *r)
{
	while (r->can_read && !r->read_done) {
		size_t n = r->chunk;
		uint8_t *p = mux_tx_reserve(r->stream.mux, &n);
		ssize_t k;

		if (!p || !n)
			return true; /* writable() tells when there is room */
		k = read(r->watch.fd, p, n);
		if (k > 0) {
			ga_before_data(r->stream.ga);
			mux_tx_commit(r->stream.mux, (size_t)k);
			r->chunk = (size_t)k == n ? CHUNK : r->chunk;
			continue;
		}
		mux_tx_commit(r->stream.mux, 0);
		if (k < 0 && errno == EINTR)
			continue;
		if (k < 0 && errno == EAGAIN) {
			r->can_read = false;
			return true;
		}
		if (k < 0 || r->reset_seen) {
			relay_fail(r, MUX_RESET_ABORT);
			return false;
		}
		ga_before_data(r->stream.ga);
		mux_finish(r->stream.mux);
		r->read_done = true;
	}
	return true;
}

/* A unix socket tells of room whenever its peer has read, so it is asked only while we wait for it. */
static void want_room(struct relay *r, bool on)
{
	ga_loop_change(&r->stream.ga->loop, &r->watch, RELAY_EVENTS | (on ? EPOLLOUT : 0));
}

/* Stream to socket. */
static void pump_to_socket(struct relay *r)
{
	const uint8_t *p;
	size_t n;

	while ((p = mux_peek(r->stream.mux, &n)) && n) {
		ssize_t k;

		if (r->write_done) {
			mux_consume(r->stream.mux, n); /* the socket's peer reads no more, but may still answer */
			continue;
		}
		if (!r->can_write)
			return;
		k = send(r->watch.fd, p, n, MSG_NOSIGNAL);
		if (k > 0) {
			mux_consume(r->stream.mux, (size_t)k);
		} else if (k < 0 && errno == EAGAIN) {
			r->can_write = false;
			want_room(r, true);
		} else if (k < 0 && errno != EINTR) {
			r->reset_seen = errno == ECONNRESET;
			r->write_done = true;
			/* TCP knows no peer that only stopped reading: it is gone, if its end has been read already. */
			r->broken = r->addr.ss_family != AF_UNIX;
		}
	}
	if (mux_at_end(r->stream.mux) && !r->write_done) {
		shutdown(r->watch.fd, SHUT_WR);
		r->write_done = true;
	}
}

static void pump(struct relay *r)
{
	if (r->connecting)
		return;
	pump_to_socket(r);
	if (!pump_from_socket(r))
		return;
	/* What is left unread has no room: it is lost with the connection, as in a sender's buffer. */
	if ((r->broken && r->read_done) || (r->alarmed && sock_error(r->watch.fd))) {
		relay_fail(r, MUX_RESET_ABORT);
		return;
	}
	r->alarmed = false;
	if (r->read_done && r->write_done && mux_at_end(r->stream.mux)) {
		ga_stream_release(&r->stream);
		relay_free(r);
	}
}

/* The connect() has come to its end, with error. False when it failed and the relay is gone. */
static bool connected(struct relay *r, int error)
{
	r->connecting = false;
	/* It may have taken the connection, said something and reset it before we looked. */
	r->reset_seen = error == ECONNRESET;
	if (!error || r->reset_seen)
		return true;
	relay_fail(r, MUX_RESET_REFUSED);
	return false;
}

static void on_socket(struct ga_watch *w, uint32_t events)
{
	struct relay *r = ga_of(w, struct relay, watch);

	if (r->connecting && (!(events & (EPOLLOUT | EPOLLERR | EPOLLHUP)) || !connected(r, sock_error(w->fd))))
		return;
	r->alarmed |= (events & EPOLLERR) != 0;
	r->can_read |= (events & (EPOLLIN | EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0;
	if (!r->can_write && (events & (EPOLLOUT | EPOLLHUP | EPOLLERR))) {
		r->can_write = true;
		want_room(r, false);
	}
	pump(r);
}

static void stream_moved(struct ga_stream *s)
{
	pump(ga_of(s, struct relay, stream));
}

static void stream_gone(struct ga_stream *s)
{
	struct relay *r = ga_of(s, struct relay, stream);

	if (r->watch.fd >= 0)
		sock_reset_on_close(r->watch.fd);
	relay_free(r);
}

static const struct ga_stream_ops ops = { .readable = stream_moved, .writable = stream_moved, .gone = stream_gone };

static int make_address(struct relay *r, const struct ap_open *o)
{
	struct err e;

	if (o->kind == AP_OPEN_UNIX) {
		r->addr_len = sizeof(struct sockaddr_un);
		return sock_unix_addr(o->path, (struct sockaddr_un *)&r->addr, &e);
	}
	r->addr_len = sock_ip_addr(o->family, o->addr, o->port, &r->addr);
	return 0;
}

static void start(struct relay *r)
{
	struct ga *ga = r->stream.ga;
	struct pollfd now = { .events = POLLOUT };
	struct err e;

	r->watch.fd = sock_start_connect((struct sockaddr *)&r->addr, r->addr_len, &r->connecting, &e);
	if (r->watch.fd < 0 && e.errnum == EAGAIN && r->retries++ < RETRIES_MAX) {
		r->connecting = true;
		ga_timer_set(&ga->loop, &r->retry, RETRY_MS);
		return;
	}
	if (r->watch.fd < 0) {
		relay_fail(r, e.errnum == EMFILE || e.errnum == ENFILE ? MUX_RESET_LIMIT : MUX_RESET_REFUSED);
		return;
	}
	if (r->addr.ss_family != AF_UNIX)
		sock_relay_options(r->watch.fd);
	/* Within the machine it is decided by now, and what the client sends must not be lost with a reset behind it. */
	now.fd = r->watch.fd;
	if (r->connecting && poll(&now, 1, 0) == 1 && !connected(r, now.revents & POLLERR ? sock_error(now.fd) : 0))
		return;
	r->can_write = !r->connecting;
	if (ga_loop_add(&ga->loop, &r->watch, RELAY_EVENTS | (r->connecting ? EPOLLOUT : 0)) < 0)
		relay_fail(r, MUX_RESET_LIMIT);
	else
		pump(r);
}

static void on_retry(struct ga_timer *t)
{
	start(ga_of(t, struct relay, retry));
}

void ga_relay_open(struct ga *ga, struct mux_stream *m, const struct ap_open *o)
{
	struct relay *r = calloc(1, sizeof(*r));

	if (!r) {
		mux_reset(m, MUX_RESET_LIMIT);
		return;
	}
	if (make_address(r, o) < 0) {
		free(r);
		mux_reset(m, MUX_RESET_REFUSED);
		return;
	}
	r->watch = (struct ga_watch){ -1, on_socket };
	r->retry.fn = on_retry;
	r->chunk = CHUNK_FIRST;
	ga_stream_attach(&r->stream, ga, m, &ops);
	start(r);
}

/* For a connection that is there; fd is taken. */
static void run_on(struct relay *r, struct ga *ga, struct mux_stream *m, int fd)
{
	r->watch = (struct ga_watch){ fd, on_socket };
	r->retry.fn = on_retry;
	r->chunk = CHUNK_FIRST;
	r->can_write = true;
	ga_stream_attach(&r->stream, ga, m, &ops);
	if (ga_loop_add(&ga->loop, &r->watch, RELAY_EVENTS) < 0)
		relay_fail(r, MUX_RESET_LIMIT);
	else
		pump(r); /* what has come for it already */
}

void ga_relay_take(struct ga *ga, struct mux_stream *m, int fd)
{
	struct relay *r = calloc(1, sizeof(*r));

	if (!r) {
		close(fd);
		mux_stream_set(m, NULL);
		mux_abort(m, MUX_RESET_LIMIT);
		return;
	}
	sock_relay_options(fd);
	run_on(r, ga, m, fd);
}

void ga_relay_accept(struct ga *ga, int fd, uint16_t index)
{
	struct ap_open o = { .kind = AP_OPEN_REVERSE, .index = index };
	struct relay *r = calloc(1, sizeof(*r));
	struct mux_stream *m = NULL;
	uint8_t request[16];
	ssize_t n = ap_open_pack(&o, request, sizeof(request));

	if (r && n > 0)
		m = mux_open(ga->mux, request, (size_t)n, NULL);
	if (!m) {
		close(fd);
		free(r);
		return;
	}
	run_on(r, ga, m, fd);
}
