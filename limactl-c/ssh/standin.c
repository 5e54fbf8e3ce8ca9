#include "limactl-c/ssh/standin.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/cleanup.h"
#include "lib/clock.h"
#include "lib/log.h"
#include "limactl-c/base/mem.h"
#include "limactl-c/ssh/direct.h"
#include "limactl-c/ssh/line.h"
#include "limactl-c/ssh/remote.h"

enum {
	READ_SIZE = 64 * 1024,
	RETRY_FIRST_MS = 100, /* until the server lets us in; doubled each time */
	RETRY_MOST_MS = 2000,
};

/* --- what is being done --- */

void work_add(struct work *w, struct standin *si, struct mux_stream *m, const struct work_ops *ops)
{
	w->ops = ops;
	w->si = si;
	w->mux = m;
	if (m)
		mux_stream_set(m, w);
	list_add(&si->works, &w->node);
}

void work_remove(struct work *w)
{
	list_del(&w->node);
}

void work_release(struct work *w)
{
	struct mux_stream *m = w->mux;

	w->mux = NULL;
	mux_stream_set(m, NULL);
	mux_drain(m); /* unread, it would hold the peer back for ever */
	mux_finish(m);
}

void work_reset(struct work *w, enum mux_reset_code code)
{
	struct mux_stream *m = w->mux;

	w->mux = NULL;
	mux_abort(m, code);
}

static void pump_all(struct standin *si)
{
	for (struct node *n = si->works.next, *next; n != &si->works; n = next) {
		struct work *w = list_item(n, struct work, node);

		next = n->next;
		w->ops->pump(w);
	}
}

static void drop_all(struct standin *si)
{
	while (!list_empty(&si->works)) {
		struct work *w = list_item(si->works.next, struct work, node);

		if (w->mux)
			work_reset(w, MUX_RESET_ABORT);
		w->ops->drop(w);
	}
}

/* --- what the host agent is told --- */

static void tell(struct standin *si, unsigned type, const uint8_t *body, ssize_t n)
{
	if (n < 0 || mux_send(si->mux, type, body, (size_t)n) < 0)
		log_error("the host agent cannot be told of the guest");
}

static void send_info(struct standin *si)
{
	struct ap_info info = { .pid = (uint32_t)getpid(), .boot_id = mux_peer_epoch(si->mux), .port_events = "none" };
	uint8_t body[512];

	snprintf(info.version, sizeof(info.version), "%s", VERSION);
	snprintf(info.hostname, sizeof(info.hostname), "%s", si->name);
	tell(si, AP_MSG_INFO, body, ap_info_pack(&info, body, sizeof(body)));
}

static void send_trouble(struct standin *si, const char *what, const char *why)
{
	struct ap_trouble t = { 0 };
	uint8_t body[1024];

	snprintf(t.what, sizeof(t.what), "%s", what);
	snprintf(t.why, sizeof(t.why), "%s", why);
	tell(si, AP_MSG_TROUBLE, body, ap_trouble_pack(&t, body, sizeof(body)));
}

static void send_boot(struct standin *si)
{
	const struct ap_boot boot = { .phase = si->done ? AP_BOOT_DONE : AP_BOOT_PROVISIONING };
	uint8_t body[512];

	tell(si, AP_MSG_BOOT, body, ap_boot_pack(&boot, body, sizeof(body)));
}

/* No port is told: what a static rule names is listened on whatever listens in the guest. */
static void send_ports(struct standin *si)
{
	static const struct ap_ports none = { .snapshot = true };
	uint8_t body[64];

	tell(si, AP_MSG_PORTS, body, ap_ports_pack(&none, body, sizeof(body)));
}

static void send_keys(struct standin *si)
{
	auto_free uint8_t *body = xmalloc(MUX_MESSAGE_MAX);

	tell(si, AP_MSG_HOST_KEYS, body, ap_host_keys_pack(&si->server->known, body, MUX_MESSAGE_MAX));
}

static void on_booted(struct standin *si, int status)
{
	si->done = true;
	if (!si->mux || !si->up)
		return;
	if (status)
		send_trouble(si, "provisioning", "the guest has not run the scripts of its seed volume to their end "
						 "(/run/lima-boot-done is missing): `limactl-c shell` can look why");
	send_boot(si);
}

static void await_boot(struct standin *si)
{
	auto_buf line = BUF_INIT(LINE_MAX_BYTES);

	if (!si->seeded || *si->trouble || line_await_boot(&line) < 0)
		si->done = true;
	else
		errand_start(si, &line, on_booted);
}

/* --- the channel's calls --- */

static void on_up(void *ctx, bool resumed)
{
	struct standin *si = ctx;

	si->up = true;
	if (resumed)
		return;
	send_info(si);
	if (si->server->known.count && !*si->trouble)
		send_keys(si);
	send_ports(si);
	if (*si->trouble)
		send_trouble(si, "ssh", si->trouble);
	send_boot(si);
}

static void on_down(void *ctx)
{
	(void)ctx; /* the carrier is lost, which is our end */
}

static int on_message(void *ctx, unsigned type, const uint8_t *body, size_t len)
{
	(void)ctx;
	(void)type;
	(void)body;
	(void)len;
	return 0; /* of time, sockets to listen on and the like, which need an agent in the guest */
}

static void on_open(void *ctx, struct mux_stream *m, const uint8_t *request, size_t len)
{
	static void (*const openers[])(struct standin *si, struct mux_stream *m, const struct ap_open *o) = {
		[AP_OPEN_TCP] = direct_open,
		[AP_OPEN_UNIX] = direct_open,
		[AP_OPEN_EXEC] = remote_open,
	};
	struct standin *si = ctx;
	struct ap_open o;

	mux_stream_set(m, NULL);
	if (ap_open_unpack(&o, request, len) < 0)
		mux_reset(m, MUX_RESET_PROTOCOL);
	else if (*si->trouble || (size_t)o.kind >= sizeof(openers) / sizeof(openers[0]) || !openers[o.kind])
		mux_reset(m, MUX_RESET_REFUSED);
	else
		openers[o.kind](si, m, &o);
}

/* Works are pumped after all that has come. */
static void on_moved(void *ctx, struct mux_stream *m)
{
	(void)ctx;
	if (!mux_stream_get(m))
		mux_drain(m); /* unread, it would hold the peer back for ever */
}

static void on_reset(void *ctx, struct mux_stream *m, enum mux_reset_code code)
{
	struct work *w = mux_stream_get(m);

	(void)ctx;
	(void)code;
	if (!w)
		return;
	w->mux = NULL;
	w->ops->gone(w);
}

static void on_closed(void *ctx, struct mux_stream *m)
{
	on_reset(ctx, m, MUX_RESET_ABORT);
}

static const struct mux_ops ops = {
	.up = on_up,
	.down = on_down,
	.message = on_message,
	.open = on_open,
	.readable = on_moved,
	.writable = on_moved,
	.reset = on_reset,
	.closed = on_closed,
};

/* --- the carrier --- */

static void read_carrier(struct standin *si)
{
	char *p = buf_reserve(&si->in, READ_SIZE);
	ssize_t k = p ? recv(si->fd, p, READ_SIZE, MSG_DONTWAIT) : 0;

	if (k < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (k <= 0) {
		si->ended = true;
		return;
	}
	buf_commit(&si->in, (size_t)k);
	buf_drop_front(&si->in, mux_feed(si->mux, (const uint8_t *)si->in.data, si->in.len));
}

static void flush_carrier(struct standin *si)
{
	struct iovec part[MUX_PARTS];
	struct msghdr msg = { .msg_iov = part };

	si->full = false;
	while (!si->full && (msg.msg_iovlen = mux_output_parts(si->mux, part)) > 0) {
		ssize_t k = sendmsg(si->fd, &msg, MSG_NOSIGNAL | MSG_DONTWAIT);
		int errnum = k < 0 ? errno : 0;

		mux_output_done(si->mux, k > 0 ? (size_t)k : 0);
		si->full = errnum == EAGAIN;
		if (errnum && errnum != EAGAIN && errnum != EINTR) {
			si->ended = true;
			return;
		}
	}
}

/* --- until the server lets us in --- */

static bool host_is_gone(const struct standin *si, int ms)
{
	struct pollfd p = { .fd = si->fd, .events = POLLRDHUP };

	return poll(&p, 1, ms) > 0 && p.revents;
}

/* Waits for whatever the pool waits for, or the end of the host agent. */
static bool wait_pool(struct standin *si)
{
	struct pollfd fds[1 + POOL_MAX] = { { .fd = si->fd, .events = POLLRDHUP } };
	size_t n = 1 + pool_poll(&si->pool, fds + 1);

	return poll(fds, n, pool_timeout(&si->pool)) < 0 || !fds[0].revents;
}

/* Reasons are told once each: some servers take their time to start. 0: in, or never; -1: the host agent is gone. */
static int log_in(struct standin *si)
{
	char last[sizeof(si->pool.why.msg)] = "";
	int pause = RETRY_FIRST_MS;

	for (;;) {
		pool_connect(&si->pool);
		while (!pool_is_ready(&si->pool) && !pool_is_empty(&si->pool)) {
			pool_dispatch(&si->pool);
			if (!wait_pool(si))
				return -1;
			pool_step(&si->pool);
		}
		if (pool_is_ready(&si->pool))
			return 0;
		if (strcmp(last, si->pool.why.msg))
			log_info("waiting for the guest's SSH server: %s", si->pool.why.msg);
		memcpy(last, si->pool.why.msg, sizeof(last));
		pool_dispatch(&si->pool); /* frees it */
		if (si->pool.stranger) {
			snprintf(si->trouble, sizeof(si->trouble), "%.150s: if it was made anew, remove known_hosts in the folder "
				 "of the instance and start it again", si->pool.why.msg);
			return 0;
		}
		if (host_is_gone(si, pause))
			return -1;
		pause = pause * 2 < RETRY_MOST_MS ? pause * 2 : RETRY_MOST_MS;
	}
}

/* --- the whole --- */

enum { FDS_MAX = 4096 };

static int wait_all(struct standin *si)
{
	static struct pollfd fds[FDS_MAX];
	size_t n = 1;
	int k;

	fds[0] = (struct pollfd){ .fd = si->fd, .events = (short)(POLLIN | (si->full ? POLLOUT : 0)) };
	n += pool_poll(&si->pool, fds + n);
	for (struct node *w = si->works.next; w != &si->works && n + WORK_FDS <= FDS_MAX; w = w->next) {
		const struct work *work = list_item(w, struct work, node);

		if (work->ops->poll)
			n += work->ops->poll(work, fds + n);
	}
	k = poll(fds, n, pool_timeout(&si->pool));
	if (k > 0 && fds[0].revents & ~POLLOUT)
		read_carrier(si);
	return k < 0 && errno != EINTR ? -1 : 0;
}

static int serve(struct standin *si, struct err *e)
{
	uint64_t epoch = 0;

	while (!epoch)
		if (getentropy(&epoch, sizeof(epoch)) < 0)
			return err_errno(e, "no random numbers");
	si->mux = mux_new(MUX_GUEST, epoch, &ops, si);
	if (!si->mux)
		abort();
	mux_carrier_open(si->mux);
	await_boot(si);
	while (!si->ended) {
		pool_step(&si->pool);
		pump_all(si);
		pool_dispatch(&si->pool);
		flush_carrier(si);
		if (!*si->trouble && pool_is_empty(&si->pool))
			break;
		if (wait_all(si) < 0)
			return err_errno(e, "poll");
	}
	return si->ended ? 0 : err_set(e, ERR_STATE, "%s", si->pool.why.msg);
}

int standin_run(struct standin *si, struct err *e)
{
	int rc;

	list_init(&si->works);
	pool_init(&si->pool, si->server);
	si->in.max = 2 * READ_SIZE + MUX_UNIT_MAX;
	rc = log_in(si) < 0 ? 0 : serve(si, e);
	drop_all(si);
	pool_fini(&si->pool);
	if (si->mux) {
		flush_carrier(si); /* streams end now, not when there is another one of us */
		mux_free(si->mux);
	}
	buf_free(&si->in);
	return rc;
}
