#include "limactl-c/hostagent/guest.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "lib/log.h"
#include "limactl-c/base/mem.h"

enum {
	READ_SIZE = 64 * 1024,
	RETRY_FIRST = 20,  /* ms until a lost carrier is made again; doubled each time */
	RETRY_MOST = 2000,
};

struct guest {
	struct loop *loop;
	const struct guest_ops *ops;
	void *ctx;
	struct mux *mux;
	bool wanted; /* the machine is alive, so there should be a carrier */
	int fd;      /* the carrier, -1 = none */
	struct watch *watch;
	unsigned watched;
	struct deadline *retry; /* set only while a carrier is wanted and there is none */
	int retry_ms;
	struct stream *waiting, *waiting_last;
	uint8_t *read_buf;
};

static void connect_now(void *ctx);

static void watch_for(struct guest *g, unsigned events)
{
	g->watched = events;
	watch_set(g->watch, events);
}

static void drop_carrier(struct guest *g)
{
	if (g->fd < 0)
		return;
	watch_free(g->watch);
	g->watch = NULL;
	close(g->fd);
	g->fd = -1;
	mux_carrier_lost(g->mux);
}

static void carrier_failed(struct guest *g, const char *what, int errnum)
{
	drop_carrier(g);
	if (!g->wanted)
		return;
	log_warn("the link to the guest is lost: %s%s%s", what, errnum ? ": " : "", errnum ? strerror(errnum) : "");
	deadline_in(g->retry, g->retry_ms);
}

void guest_flush(struct guest *g)
{
	const uint8_t *p;
	size_t n;

	while (g->fd >= 0 && !(g->watched & WATCH_WRITE) && (n = mux_output(g->mux, &p)) > 0) {
		ssize_t k = send(g->fd, p, n, MSG_NOSIGNAL);

		if (k >= 0)
			mux_output_done(g->mux, (size_t)k);
		else if (errno == EAGAIN)
			watch_for(g, WATCH_READ | WATCH_WRITE);
		else if (errno != EINTR)
			carrier_failed(g, "write", errno);
	}
}

static void on_carrier(void *ctx, unsigned events)
{
	struct guest *g = ctx;
	ssize_t k;

	if (events & WATCH_WRITE)
		watch_for(g, WATCH_READ); /* guest_flush() goes on before the next wait */
	if (events == WATCH_WRITE)
		return;
	do
		k = recv(g->fd, g->read_buf, READ_SIZE, 0);
	while (k < 0 && errno == EINTR);
	if (k > 0)
		mux_feed(g->mux, g->read_buf, (size_t)k);
	else if (k == 0)
		carrier_failed(g, "the other end closed it", 0);
	else if (errno != EAGAIN)
		carrier_failed(g, "read", errno);
	else if (events & WATCH_ERROR)
		watch_for(g, WATCH_READ);
}

static void connect_now(void *ctx)
{
	struct guest *g = ctx;
	struct err e = { 0 };
	int fd;

	if (!g->wanted || g->fd >= 0)
		return;
	fd = g->ops->connect(g->ctx, &e);
	if (fd >= 0 && !(g->watch = watch_new(g->loop, fd, on_carrier, g))) {
		err_set(&e, ERR_INVALID, "the carrier is no socket");
		close(fd);
		fd = -1;
	}
	if (fd < 0) {
		log_warn("no link to the guest: %s", e.msg);
		deadline_in(g->retry, g->retry_ms);
		g->retry_ms = g->retry_ms * 2 < RETRY_MOST ? g->retry_ms * 2 : RETRY_MOST;
		return;
	}
	g->fd = fd;
	watch_for(g, WATCH_READ);
	mux_carrier_open(g->mux);
}

void guest_connect(struct guest *g)
{
	g->wanted = true;
	g->retry_ms = RETRY_FIRST;
	deadline_stop(g->retry);
	connect_now(g);
}

void guest_ending(struct guest *g)
{
	g->wanted = false;
	deadline_stop(g->retry);
}

void guest_disconnect(struct guest *g)
{
	guest_ending(g);
	drop_carrier(g);
}

bool guest_is_up(const struct guest *g)
{
	return g->fd >= 0 && mux_is_up(g->mux);
}

int guest_send_power_off(struct guest *g)
{
	return mux_send(g->mux, AP_MSG_POWER_OFF, NULL, 0);
}

int guest_send_time(struct guest *g)
{
	struct timespec t;
	uint8_t body[8];
	ssize_t n;

	clock_gettime(CLOCK_REALTIME, &t);
	n = ap_time_pack((uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec, body, sizeof(body));
	return n < 0 ? -1 : mux_send(g->mux, AP_MSG_TIME, body, (size_t)n);
}

/* --- streams --- */

static void unlink_waiting(struct stream *st)
{
	struct guest *g = st->guest;

	if (!st->request)
		return;
	*(st->prev ? &st->prev->next : &g->waiting) = st->next;
	*(st->next ? &st->next->prev : &g->waiting_last) = st->prev;
	free(st->request);
	st->request = NULL;
}

static void open_now(struct stream *st, const uint8_t *request, size_t len)
{
	st->mux = mux_open(st->guest->mux, request, len, st);
	if (st->mux)
		st->ops->opened(st);
	else
		st->ops->reset(st, MUX_RESET_LIMIT);
}

void guest_open(struct guest *g, struct stream *st, const uint8_t *request, size_t len)
{
	st->guest = g;
	if (guest_is_up(g)) {
		open_now(st, request, len);
		return;
	}
	st->request = xmalloc(len);
	memcpy(st->request, request, len);
	st->request_len = len;
	st->prev = g->waiting_last;
	st->next = NULL;
	*(st->prev ? &st->prev->next : &g->waiting) = st;
	g->waiting_last = st;
}

void guest_abort(struct stream *st, enum mux_reset_code code)
{
	if (st->guest)
		unlink_waiting(st);
	if (st->mux)
		mux_reset(st->mux, code);
	st->mux = NULL;
}

/* --- what the mux tells --- */

static void on_up(void *ctx, bool resumed)
{
	struct guest *g = ctx;
	struct stream *st;

	g->retry_ms = RETRY_FIRST;
	g->ops->up(g->ctx, resumed);
	while ((st = g->waiting)) {
		uint8_t request[MUX_REQUEST_MAX];
		size_t len = st->request_len;

		memcpy(request, st->request, len);
		unlink_waiting(st);
		open_now(st, request, len);
	}
}

static void on_down(void *ctx)
{
	struct guest *g = ctx;

	g->ops->down(g->ctx);
}

static int on_message(void *ctx, unsigned type, const uint8_t *body, size_t len)
{
	struct guest *g = ctx;

	return g->ops->message(g->ctx, type, body, len);
}

/* The host opens all streams; a guest that tries gets this answer. */
static void on_open(void *ctx, struct mux_stream *s, const uint8_t *request, size_t len)
{
	(void)ctx;
	(void)request;
	(void)len;
	mux_reset(s, MUX_RESET_PROTOCOL);
}

static void on_readable(void *ctx, struct mux_stream *s)
{
	struct stream *st = mux_stream_get(s);

	(void)ctx;
	st->ops->readable(st);
}

static void on_writable(void *ctx, struct mux_stream *s)
{
	struct stream *st = mux_stream_get(s);

	(void)ctx;
	st->ops->writable(st);
}

static void on_reset(void *ctx, struct mux_stream *s, enum mux_reset_code code)
{
	struct stream *st = mux_stream_get(s);

	(void)ctx;
	st->mux = NULL;
	st->ops->reset(st, code);
}

static void on_closed(void *ctx, struct mux_stream *s)
{
	struct stream *st = mux_stream_get(s);

	(void)ctx;
	st->mux = NULL;
	st->ops->closed(st);
}

static const struct mux_ops mux_ops = {
	.up = on_up,
	.down = on_down,
	.message = on_message,
	.open = on_open,
	.readable = on_readable,
	.writable = on_writable,
	.reset = on_reset,
	.closed = on_closed,
};

struct guest *guest_new(struct loop *l, const struct guest_ops *ops, void *ctx, struct err *e)
{
	struct guest *g;
	uint64_t epoch = 0;

	while (!epoch) {
		if (getentropy(&epoch, sizeof(epoch)) < 0) {
			err_errno(e, "no random numbers");
			return NULL;
		}
	}
	g = xcalloc(1, sizeof(*g));
	g->loop = l;
	g->ops = ops;
	g->ctx = ctx;
	g->fd = -1;
	g->mux = mux_new(MUX_HOST, epoch, &mux_ops, g);
	if (!g->mux)
		abort();
	g->retry = deadline_new(l, connect_now, g);
	g->read_buf = xmalloc(READ_SIZE);
	return g;
}

void guest_free(struct guest *g)
{
	if (!g)
		return;
	watch_free(g->watch);
	if (g->fd >= 0)
		close(g->fd);
	mux_free(g->mux);
	deadline_free(g->retry);
	free(g->read_buf);
	free(g);
}
