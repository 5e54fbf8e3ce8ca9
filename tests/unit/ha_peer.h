/* ha_peer.h - a loop, the host agent's link, and a guest of our own at the other end of it, in one process. */
#ifndef TEST_HA_PEER_H
#define TEST_HA_PEER_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "lib/agentproto.h"
#include "lib/buf.h"
#include "lib/clock.h"
#include "lib/execproto.h"
#include "lib/io.h"
#include "limactl-c/hostagent/conn.h"
#include "limactl-c/hostagent/guest.h"
#include "limactl-c/hostagent/loop.h"
#include "tests/unit/feed.h"

enum { PEER_DEADLINE_MS = 10000 };

/* What the guest does with a stream that is opened. */
enum peer_mode { PEER_ECHO, PEER_REFUSE, PEER_HOLD, PEER_COLLECT, PEER_ANSWER, PEER_RUN };

struct peer {
	struct loop *loop;
	struct guest *guest;
	struct conns *conns;
	struct mux *mux; /* the guest's side */
	struct feed feed;
	int fd;
	struct watch *watch;
	enum peer_mode mode;
	struct mux_stream *last; /* opened last */
	struct ap_open last_open;
	size_t opened, closed, resets, ups, downs, got;
	enum mux_reset_code last_code;
	bool reachable; /* connect() succeeds */
	size_t messages_before; /* when the last stream was opened, or had its first bytes with PEER_RUN */
	uint8_t last_message[64];
	size_t last_message_len, messages;
	const char *not_ready; /* to be saved, and why; NULL: it is */
	bool never_ready;      /* it does not say */
	size_t asked_ready, woken; /* such messages */
	struct deadline *tick;
	const char *first_answer, *answer; /* PEER_ANSWER: to the first question, to all others */
	size_t answered;
	void (*run)(struct peer *p, struct mux_stream *s); /* PEER_RUN: when the first bytes of a stream have come */
	void (*on_up)(struct peer *p); /* what a guest agent says first; may be NULL */
	bool (*until)(struct peer *p);
	int64_t give_up;
	bool timed_out;
};

static void peer_flush(struct peer *p)
{
	const uint8_t *bytes;
	size_t n;

	while (p->fd >= 0 && (n = first_part(p->mux, &bytes)) > 0) {
		ssize_t k = send(p->fd, bytes, n, MSG_NOSIGNAL);

		if (k < 0) {
			watch_set(p->watch, errno == EAGAIN ? WATCH_READ | WATCH_WRITE : WATCH_READ);
			return;
		}
		mux_output_done(p->mux, (size_t)k);
	}
}

/* A record of an exec stream. */
static inline void peer_record(struct buf *b, enum ep_type type, const void *payload, size_t n)
{
	uint8_t header[EP_HEADER];

	ep_header_pack(header, type, n);
	assert_int_equal(buf_add(b, header, sizeof(header)) | buf_add(b, payload, n), 0);
}

static inline void peer_before_wait(void *ctx)
{
	struct peer *p = ctx;

	guest_flush(p->guest);
	peer_flush(p);
}

static void peer_cut(struct peer *p)
{
	if (p->fd < 0)
		return;
	watch_free(p->watch);
	close(p->fd);
	p->fd = -1;
	mux_carrier_lost(p->mux);
}

static void peer_on_fd(void *ctx, unsigned events)
{
	struct peer *p = ctx;
	uint8_t buf[32768];
	ssize_t k;

	if (events & WATCH_WRITE)
		watch_set(p->watch, WATCH_READ);
	k = recv(p->fd, buf, sizeof(buf), 0);
	if (k > 0)
		feed(&p->feed, p->mux, buf, (size_t)k);
	else if (k == 0 || errno != EAGAIN)
		peer_cut(p);
}

static void peer_pump(struct peer *p, struct mux_stream *s)
{
	const uint8_t *bytes;
	size_t n, k;

	if (p->mode == PEER_HOLD)
		return;
	if (p->mode == PEER_RUN && mux_peek(s, &n) && n && !mux_is_finished(s))
		p->run(p, s);
	while ((bytes = mux_peek(s, &n)) && n) {
		k = p->mode == PEER_ECHO ? mux_write(s, bytes, n) : n;
		if (!k)
			return;
		p->got += k;
		mux_consume(s, k);
		if (p->mode == PEER_ANSWER && !mux_is_finished(s)) {
			const char *text = p->answered++ ? p->answer : p->first_answer;

			mux_write(s, text, strlen(text));
			mux_finish(s);
		}
	}
	if (mux_at_end(s))
		mux_finish(s);
}

static void peer_up(void *ctx, bool resumed)
{
	struct peer *p = ctx;

	if (!resumed && p->on_up)
		p->on_up(p);
}

static void peer_down(void *ctx)
{
	(void)ctx;
}

static int peer_message(void *ctx, unsigned type, const uint8_t *body, size_t len)
{
	struct peer *p = ctx;

	p->woken += type == AP_MSG_WOKEN;
	if (type == AP_MSG_SUSPEND) {
		struct ap_suspend v = { 0 };
		uint8_t out[sizeof(v) + 2];

		p->asked_ready++;
		snprintf(v.why, sizeof(v.why), "%s", p->not_ready ? p->not_ready : "");
		if (!p->never_ready)
			mux_send(p->mux, AP_MSG_SUSPEND, out, (size_t)ap_suspend_pack(&v, out, sizeof(out)));
	}
	p->messages++;
	p->last_message_len = len;
	memcpy(p->last_message, body, len < sizeof(p->last_message) ? len : sizeof(p->last_message));
	return 0;
}

static void peer_open(void *ctx, struct mux_stream *s, const uint8_t *request, size_t len)
{
	struct peer *p = ctx;

	p->opened++;
	p->messages_before = p->messages;
	assert_int_equal(ap_open_unpack(&p->last_open, request, len), 0);
	if (p->mode == PEER_REFUSE) {
		mux_reset(s, MUX_RESET_REFUSED);
		return;
	}
	p->last = s;
}

static void peer_readable(void *ctx, struct mux_stream *s)
{
	peer_pump(ctx, s);
}

static void peer_reset(void *ctx, struct mux_stream *s, enum mux_reset_code code)
{
	struct peer *p = ctx;

	if (p->last == s)
		p->last = NULL;
	p->resets++;
	p->last_code = code;
}

static void peer_closed(void *ctx, struct mux_stream *s)
{
	struct peer *p = ctx;

	if (p->last == s)
		p->last = NULL;
	p->closed++;
}

static const struct mux_ops peer_mux_ops = {
	.up = peer_up,
	.down = peer_down,
	.message = peer_message,
	.open = peer_open,
	.readable = peer_readable,
	.writable = peer_readable,
	.reset = peer_reset,
	.closed = peer_closed,
};

/* The host agent's side. */

static int peer_connect(void *ctx, struct err *e)
{
	struct peer *p = ctx;
	int fds[2];

	if (!p->reachable)
		return err_set(e, ERR_SYS, "the test has cut the carrier");
	peer_cut(p);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
	p->fd = fds[1];
	p->watch = watch_new(p->loop, p->fd, peer_on_fd, p);
	watch_set(p->watch, WATCH_READ);
	mux_carrier_open(p->mux);
	return fds[0];
}

static void peer_host_up(void *ctx, bool resumed)
{
	struct peer *p = ctx;

	(void)resumed;
	p->ups++;
}

static void peer_host_down(void *ctx)
{
	struct peer *p = ctx;

	p->downs++;
}

static const struct guest_ops __attribute__((unused)) peer_guest_ops = {
	.connect = peer_connect,
	.up = peer_host_up,
	.down = peer_host_down,
	.message = peer_message,
};

static void peer_tick(void *ctx)
{
	struct peer *p = ctx;

	peer_flush(p);
	p->timed_out = clock_ms() > p->give_up;
	if (p->timed_out || p->until(p))
		loop_stop(p->loop);
	else
		deadline_in(p->tick, 2);
}

/* Runs the loop until the condition holds. */
static void peer_run(struct peer *p, bool (*until)(struct peer *p))
{
	p->until = until;
	p->give_up = clock_ms() + PEER_DEADLINE_MS;
	deadline_in(p->tick, 0);
	loop_run(p->loop);
	assert_false(p->timed_out);
}

static inline bool peer_is_up(struct peer *p)
{
	return guest_is_up(p->guest);
}

static inline void peer_link(struct peer *p)
{
	guest_connect(p->guest);
	peer_run(p, peer_is_up);
}

/* Everything that can happen now has happened: a few empty rounds. */
static inline bool peer_rounds(struct peer *p)
{
	static int n;

	(void)p;
	return ++n % 10 == 0;
}

/* A new process in the guest. */
static void peer_new_agent(struct peer *p)
{
	static uint64_t epoch = 1000;

	if (p->mux)
		mux_free(p->mux);
	p->mux = mux_new(MUX_GUEST, ++epoch, &peer_mux_ops, p);
	p->feed.len = 0;
	p->last = NULL;
	if (p->fd >= 0)
		mux_carrier_open(p->mux);
}

/* The guest's side alone, on somebody else's loop. */
static void peer_begin_guest(struct peer *p, struct loop *l)
{
	*p = (struct peer){ .fd = -1, .reachable = true, .loop = l };
	p->tick = deadline_new(l, peer_tick, p);
	peer_new_agent(p);
}

static void peer_end_guest(struct peer *p)
{
	if (p->fd >= 0) {
		watch_free(p->watch);
		close(p->fd);
	}
	mux_free(p->mux);
	deadline_free(p->tick);
}

static inline void peer_begin(struct peer *p)
{
	struct err e = { 0 };

	peer_begin_guest(p, loop_new());
	p->guest = guest_new(p->loop, &peer_guest_ops, p, &e);
	p->conns = conns_new(p->loop, p->guest);
	loop_before_wait(p->loop, peer_before_wait, p);
}

static inline void peer_end(struct peer *p)
{
	conns_free(p->conns);
	guest_free(p->guest);
	peer_end_guest(p);
	loop_free(p->loop);
}

#endif
