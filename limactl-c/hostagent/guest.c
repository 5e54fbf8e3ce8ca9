#include "limactl-c/hostagent/guest.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/cleanup.h"
#include "lib/clock.h"
#include "lib/io.h"
#include "lib/log.h"
#include "limactl-c/base/mem.h"

enum {
	READ_SIZE = 64 * 1024,
	READ_BUFFER = 2 * READ_SIZE + MUX_UNIT_MAX,
	RETRY_FIRST = 20,  /* ms until a lost carrier is made again; doubled each time */
	RETRY_MOST = 2000,
	QUIET = 60000,      /* ms without a frame, after which host or guest may have slept */
	BEHIND = 64 * 1024, /* bytes of messages; the queue takes 1 MiB */
	ANSWERS_A_SECOND = 10, /* about the time; a guest agent asks twice at most */
};

struct guest {
	struct loop *loop;
	const struct guest_ops *ops;
	void *ctx;
	struct mux *mux;
	void *shared; /* memory of the machine's, the mux's while there is a carrier; NULL: there is none */
	size_t shared_size;
	bool wanted; /* the machine is alive, so there should be a carrier */
	int fd;      /* the carrier, -1 = none */
	struct watch *watch;
	unsigned watched;
	struct deadline *retry; /* set only while a carrier is wanted and there is none */
	int retry_ms;
	struct silence silence;
	struct use use;
	uint8_t *read_buf; /* READ_BUFFER; from read_at to read_len: the beginning of what has not come whole */
	size_t read_at, read_len;
	int64_t frame_at;   /* clock_boot_ms() of the last frame, 0 = none yet */
	int64_t answers_at; /* when the second of the answers began */
	unsigned answers;
};

static void connect_now(void *ctx);
static void open_waiting(struct guest *g);

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

/* A frame came, or is about to go out. */
static void note_frame(struct guest *g, int64_t now)
{
	bool quiet = g->frame_at && now - g->frame_at >= QUIET;

	g->frame_at = now;
	if (quiet && mux_is_up(g->mux))
		guest_send_time(g);
}

void guest_flush(struct guest *g)
{
	struct iovec part[MUX_PARTS];
	struct msghdr msg = { .msg_iov = part };

	/* Bytes of streams are behind all messages until they are taken. */
	if (g->fd >= 0 && !(g->watched & WATCH_WRITE) && mux_wants_output(g->mux))
		note_frame(g, clock_boot_ms());
	while (g->fd >= 0 && !(g->watched & WATCH_WRITE) && (msg.msg_iovlen = mux_output_parts(g->mux, part)) > 0) {
		ssize_t k = sendmsg(g->fd, &msg, MSG_NOSIGNAL);
		int errnum = k < 0 ? errno : 0;

		mux_output_done(g->mux, k > 0 ? (size_t)k : 0);
		if (errnum == EAGAIN)
			watch_for(g, WATCH_READ | WATCH_WRITE);
		else if (errnum && errnum != EINTR)
			carrier_failed(g, "write", errnum);
	}
}

/* n more bytes have come. */
static void take(struct guest *g, size_t n)
{
	g->read_len += n;
	g->read_at += mux_feed(g->mux, g->read_buf + g->read_at, g->read_len - g->read_at);
	if (g->read_at == g->read_len)
		g->read_at = g->read_len = 0;
}

static void on_carrier(void *ctx, unsigned events)
{
	struct guest *g = ctx;
	ssize_t k;

	if (events & WATCH_WRITE)
		watch_for(g, WATCH_READ); /* guest_flush() goes on before the next wait */
	if (events == WATCH_WRITE)
		return;
	if (READ_BUFFER - g->read_len < READ_SIZE) {
		memmove(g->read_buf, g->read_buf + g->read_at, g->read_len - g->read_at);
		g->read_len -= g->read_at;
		g->read_at = 0;
	}
	do
		k = recv(g->fd, g->read_buf + g->read_len, READ_SIZE, 0);
	while (k < 0 && errno == EINTR);
	if (k > 0) {
		silence_heard(&g->silence);
		note_frame(g, clock_boot_ms());
		take(g, (size_t)k);
	} else if (k == 0)
		carrier_failed(g, "the other end closed it", 0);
	else if (errno != EAGAIN)
		carrier_failed(g, "read", errno);
	else if (events & WATCH_ERROR)
		watch_for(g, WATCH_READ);
}

static void unshare_memory(struct guest *g)
{
	mux_share(g->mux, NULL, 0);
	if (g->shared)
		munmap(g->shared, g->shared_size);
	g->shared = NULL;
}

/* The machine behind a new carrier may be another one. */
static void share_memory(struct guest *g)
{
	auto_close int fd = g->ops->memory ? g->ops->memory(g->ctx) : -1;

	unshare_memory(g);
	g->shared = io_map_shared(fd, &g->shared_size);
	mux_share(g->mux, g->shared, g->shared_size);
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
	g->read_at = g->read_len = 0;
	watch_for(g, WATCH_READ);
	share_memory(g);
	mux_carrier_open(g->mux);
}

void guest_connect(struct guest *g)
{
	g->wanted = true;
	g->retry_ms = RETRY_FIRST;
	deadline_stop(g->retry);
	connect_now(g);
	if (guest_is_up(g))
		open_waiting(g);
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

bool guest_is_behind(const struct guest *g)
{
	return mux_unheard(g->mux) > BEHIND;
}

void guest_hurry(struct guest *g, bool on)
{
	silence_count(&g->silence, on);
}

struct silence *guest_silence(struct guest *g)
{
	return &g->silence;
}

struct use *guest_use(struct guest *g)
{
	return &g->use;
}

/* Before anything is queued, which then keeps its place. */
static void say_time_first(struct guest *g)
{
	if (mux_is_up(g->mux))
		note_frame(g, clock_boot_ms());
}

int guest_send(struct guest *g, unsigned type, const uint8_t *body, size_t len)
{
	say_time_first(g);
	return mux_send(g->mux, type, body, len);
}

int guest_send_power_off(struct guest *g)
{
	return guest_send(g, AP_MSG_POWER_OFF, NULL, 0);
}

int guest_send_time(struct guest *g)
{
	uint8_t body[8];
	ssize_t n = ap_time_pack(clock_real_ns(), body, sizeof(body));

	return n < 0 ? -1 : mux_send(g->mux, AP_MSG_TIME, body, (size_t)n);
}

int guest_send_reverse(struct guest *g, const struct ap_reverse *v)
{
	auto_free uint8_t *body = xmalloc(MUX_MESSAGE_MAX);
	ssize_t n = ap_reverse_pack(v, body, MUX_MESSAGE_MAX);

	return n < 0 ? -1 : guest_send(g, AP_MSG_REVERSE, body, (size_t)n);
}

int guest_answer_clock(struct guest *g, const uint8_t *body, size_t len)
{
	struct ap_clock a = { .ns = clock_real_ns() };
	int64_t now = clock_boot_ms();
	uint8_t answer[16];
	ssize_t n;

	if (ap_time_unpack(&a.stamp, body, len) < 0)
		return -1;
	if (now - g->answers_at >= 1000) {
		g->answers_at = now;
		g->answers = 0;
	}
	if (g->answers++ < ANSWERS_A_SECOND && (n = ap_clock_pack(&a, answer, sizeof(answer))) > 0)
		mux_send(g->mux, AP_MSG_CLOCK, answer, (size_t)n);
	return 0;
}

/* --- streams --- */

static void stop_waiting(struct stream *st)
{
	silence_remove(st);
	free(st->request);
	st->request = NULL;
}

static void open_now(struct stream *st, const uint8_t *request, size_t len)
{
	say_time_first(st->guest);
	st->mux = mux_open(st->guest->mux, request, len, st);
	if (st->mux) {
		silence_opened(&st->guest->silence, st);
		if (st->ops->opened)
			st->ops->opened(st);
	} else {
		st->ops->reset(st, MUX_RESET_LIMIT);
	}
}

static void open_waiting(struct guest *g)
{
	struct stream *st;

	while (g->wanted && (st = silence_waiting(&g->silence))) {
		uint8_t request[MUX_REQUEST_MAX];
		size_t len = st->request_len;

		memcpy(request, st->request, len);
		stop_waiting(st);
		open_now(st, request, len);
	}
}

void guest_open(struct guest *g, struct stream *st, const uint8_t *request, size_t len)
{
	st->guest = g;
	if (g->wanted && guest_is_up(g)) {
		open_now(st, request, len);
		return;
	}
	st->request = xmalloc(len);
	memcpy(st->request, request, len);
	st->request_len = len;
	silence_wait(&g->silence, st);
}

void guest_take(struct guest *g, struct stream *st, struct mux_stream *m)
{
	st->guest = g;
	st->mux = m;
	mux_stream_set(m, st);
}

static void let_go(struct stream *st, enum mux_reset_code code, void (*end)(struct mux_stream *s, enum mux_reset_code code))
{
	if (st->guest)
		stop_waiting(st);
	if (st->mux)
		end(st->mux, code);
	st->mux = NULL;
}

void guest_abort(struct stream *st, enum mux_reset_code code)
{
	let_go(st, code, mux_abort);
}

void guest_reset(struct stream *st, enum mux_reset_code code)
{
	let_go(st, code, mux_reset);
}

/* --- what the mux tells --- */

static void on_up(void *ctx, bool resumed)
{
	struct guest *g = ctx;

	g->retry_ms = RETRY_FIRST;
	g->ops->up(g->ctx, resumed);
	open_waiting(g);
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

static void on_open(void *ctx, struct mux_stream *s, const uint8_t *request, size_t len)
{
	struct guest *g = ctx;

	if (g->ops->open)
		g->ops->open(g->ctx, s, request, len);
	else
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
	if (st->ops->writable)
		st->ops->writable(st);
}

static void on_reset(void *ctx, struct mux_stream *s, enum mux_reset_code code)
{
	struct stream *st = mux_stream_get(s);

	(void)ctx;
	silence_remove(st);
	st->mux = NULL;
	st->ops->reset(st, code);
}

static void on_closed(void *ctx, struct mux_stream *s)
{
	struct stream *st = mux_stream_get(s);

	(void)ctx;
	silence_remove(st);
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
	silence_init(&g->silence, l, g->mux);
	use_init(&g->use);
	g->read_buf = xmalloc(READ_BUFFER);
	return g;
}

void guest_free(struct guest *g)
{
	if (!g)
		return;
	watch_free(g->watch);
	if (g->fd >= 0)
		close(g->fd);
	unshare_memory(g);
	mux_free(g->mux);
	deadline_free(g->retry);
	silence_fini(&g->silence);
	free(g->read_buf);
	free(g);
}
