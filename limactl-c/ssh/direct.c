#include "limactl-c/ssh/direct.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#include "lib/be.h"
#include "lib/cleanup.h"
#include "lib/log.h"
#include "limactl-c/base/mem.h"
#include "limactl-c/base/text.h"
#include "limactl-c/ssh/line.h"

enum { REQUEST_MAX = AP_PATH_MAX + 200, SAID_MAX = 256, REFUSALS = 3 };

enum way { WAY_TCPIP, WAY_STREAMLOCAL, WAY_COMMAND };
static const char *const types[] = {
	[WAY_TCPIP] = "direct-tcpip", [WAY_STREAMLOCAL] = "direct-streamlocal@openssh.com", [WAY_COMMAND] = "session",
};

struct direct {
	struct work w; /* first */
	struct chan chan;
	struct ap_open open;
	enum way way;
	bool started;      /* WAY_COMMAND: it runs */
	bool answered;     /* a byte has come */
	bool in_done, out_done; /* the host's end was passed on, the guest's */
	char said[SAID_MAX]; /* WAY_COMMAND: what it says is wrong */
	size_t said_len;
};

/* --- requests --- */

static void put_number(struct buf *b, uint32_t n)
{
	uint8_t four[4];

	be32_put(four, n);
	if (buf_add(b, four, sizeof(four)) < 0)
		abort(); /* its max is that of the longest path */
}

static void put_text(struct buf *b, const char *s)
{
	put_number(b, (uint32_t)strlen(s));
	if (buf_adds(b, s) < 0)
		abort();
}

static uint8_t *finish_request(struct buf *b, size_t *len)
{
	*len = b->len;
	return (uint8_t *)steal(&b->data);
}

uint8_t *direct_tcpip_request(const struct ap_open *o, size_t *len)
{
	struct buf b = BUF_INIT(REQUEST_MAX);
	char ip[INET6_ADDRSTRLEN];

	inet_ntop(o->family == 6 ? AF_INET6 : AF_INET, o->addr, ip, sizeof(ip));
	put_text(&b, ip);
	put_number(&b, o->port);
	put_text(&b, "127.0.0.1"); /* who asks, which it may write into its log */
	put_number(&b, 0);
	return finish_request(&b, len);
}

uint8_t *direct_streamlocal_request(const struct ap_open *o, size_t *len)
{
	struct buf b = BUF_INIT(REQUEST_MAX);

	put_text(&b, o->path);
	put_text(&b, ""); /* reserved, as is what follows */
	put_number(&b, 0);
	return finish_request(&b, len);
}

static void ask(struct direct *d, enum way way)
{
	uint8_t *request = NULL;
	size_t len = 0;

	d->way = way;
	if (way == WAY_TCPIP)
		request = direct_tcpip_request(&d->open, &len);
	else if (way == WAY_STREAMLOCAL)
		request = direct_streamlocal_request(&d->open, &len);
	pool_open(&d->w.si->pool, &d->chan, types[way], request, len);
}

/* --- the end --- */

static void drop(struct work *w)
{
	struct direct *d = (struct direct *)w;

	pool_close(&d->chan);
	work_remove(w);
	free(d);
}

static void fail(struct direct *d, enum mux_reset_code code)
{
	work_reset(&d->w, code);
	drop(&d->w);
}

/* The command has ended without a connection, as most of them tell by their exit code. */
static bool has_failed(struct direct *d)
{
	if (d->way != WAY_COMMAND || d->answered || libssh2_channel_wait_closed(d->chan.ssh) == LIBSSH2_ERROR_EAGAIN ||
	    !libssh2_channel_get_exit_status(d->chan.ssh))
		return false;
	text_make_plain(d->said);
	if (*d->said)
		log_info("%s in the guest cannot be connected to: %s", d->open.path, d->said);
	return true;
}

/* --- bytes --- */

static void to_guest(struct direct *d)
{
	struct mux_stream *m = d->w.mux;
	const uint8_t *p;
	size_t n;

	while ((p = mux_peek(m, &n)) && n && connection_has_room(d->chan.on)) {
		ssize_t k = d->in_done ? (ssize_t)n : libssh2_channel_write(d->chan.ssh, (const char *)p, n);

		if (k == LIBSSH2_ERROR_EAGAIN || k == 0)
			return;
		if (k < 0)
			d->in_done = true; /* it takes no more, but may still have something to say */
		else
			mux_consume(m, (size_t)k);
	}
	if (mux_at_end(m) && !d->in_done && libssh2_channel_send_eof(d->chan.ssh) != LIBSSH2_ERROR_EAGAIN)
		d->in_done = true;
}

static void take_complaints(struct direct *d)
{
	char bytes[1024];
	ssize_t k;

	while ((k = libssh2_channel_read_stderr(d->chan.ssh, bytes, sizeof(bytes))) > 0) {
		size_t room = sizeof(d->said) - 1 - d->said_len, n = (size_t)k < room ? (size_t)k : room;

		memcpy(d->said + d->said_len, bytes, n);
		d->said_len += n;
	}
}

/* A socket may come into being between the two tries. */
static void note_answer(struct direct *d)
{
	if (d->answered)
		return;
	d->answered = true;
	if (d->way == WAY_STREAMLOCAL)
		d->w.si->refusals = 0;
	else if (d->way == WAY_COMMAND)
		d->w.si->refusals++;
}

/* False when d is gone. */
static bool from_guest(struct direct *d)
{
	struct mux_stream *m = d->w.mux;

	if (d->way == WAY_COMMAND)
		take_complaints(d);
	while (!d->out_done) {
		size_t n = MUX_FRAME_MAX;
		uint8_t *p = mux_tx_reserve(m, &n);
		ssize_t k;

		if (!p || !n)
			return true;
		k = libssh2_channel_read(d->chan.ssh, (char *)p, n);
		mux_tx_commit(m, k > 0 ? (size_t)k : 0);
		if (k > 0) {
			note_answer(d);
			continue;
		}
		if (k == LIBSSH2_ERROR_EAGAIN)
			return true;
		if (k < 0) {
			fail(d, MUX_RESET_ABORT);
			return false;
		}
		if (d->way == WAY_COMMAND && !d->answered && libssh2_channel_wait_closed(d->chan.ssh) == LIBSSH2_ERROR_EAGAIN)
			return true; /* whether it failed is not known yet */
		if (has_failed(d)) {
			fail(d, MUX_RESET_REFUSED);
			return false;
		}
		mux_finish(m);
		d->out_done = true;
	}
	return true;
}

static void relay(struct direct *d)
{
	to_guest(d);
	if (!from_guest(d))
		return;
	/* When the server has closed it nobody takes what still comes. */
	if (d->out_done && (d->in_done || libssh2_channel_wait_closed(d->chan.ssh) != LIBSSH2_ERROR_EAGAIN)) {
		work_release(&d->w);
		drop(&d->w);
	}
}

/* --- the whole --- */

static bool start_command(struct direct *d)
{
	auto_buf line = BUF_INIT(LINE_MAX_BYTES);
	int rc = line_connect(&line, d->open.path);

	if (rc == 0)
		rc = libssh2_channel_process_startup(d->chan.ssh, "exec", 4, line.data, (unsigned)line.len);
	if (rc == LIBSSH2_ERROR_EAGAIN)
		return false;
	if (rc) {
		fail(d, MUX_RESET_REFUSED);
		return false;
	}
	d->started = true;
	return true;
}

/* It is not told whether the server allows none of these channels or nobody listens there: the command finds out. */
static void refused(struct direct *d)
{
	if (d->way != WAY_STREAMLOCAL) {
		fail(d, MUX_RESET_REFUSED);
		return;
	}
	pool_close(&d->chan);
	ask(d, WAY_COMMAND);
}

static void pump(struct work *w)
{
	struct direct *d = (struct direct *)w;

	if (!w->mux) {
		drop(w);
		return;
	}
	switch (pool_state(&w->si->pool, &d->chan)) {
	case CHAN_OPEN:
		if (d->way != WAY_COMMAND || d->started || start_command(d))
			relay(d);
		break;
	case CHAN_REFUSED:
		refused(d);
		break;
	case CHAN_LOST:
		fail(d, MUX_RESET_ABORT);
		break;
	default:
		break;
	}
}

static void gone(struct work *w)
{
	(void)w;
}

static const struct work_ops ops = { .pump = pump, .gone = gone, .drop = drop };

void direct_open(struct standin *si, struct mux_stream *m, const struct ap_open *o)
{
	struct direct *d = xcalloc(1, sizeof(*d));

	d->open = *o;
	work_add(&d->w, si, m, &ops);
	ask(d, o->kind == AP_OPEN_TCP ? WAY_TCPIP : si->refusals >= REFUSALS ? WAY_COMMAND : WAY_STREAMLOCAL);
}
