#include "limactl-c/ssh/remote.h"

#include <stdlib.h>
#include <string.h>

#include "lib/le.h"
#include "limactl-c/base/mem.h"

enum { SMALL_RECORD = 16, CHUNK = 16 * 1024 };

struct remote {
	struct work w;   /* first */
	struct job *job; /* NULL: START has not come whole */
	bool tty;
	bool input_ended;
	bool ended[2];   /* output, error output */

	/* the record being taken apart, as the guest agent does it */
	uint8_t header[EP_HEADER];
	size_t header_len;
	enum ep_type type;
	size_t left;    /* payload bytes to come */
	uint8_t *start; /* START's payload while it comes in; owned */
	uint8_t small[SMALL_RECORD];
	size_t have;
};

static void drop(struct work *w)
{
	struct remote *r = (struct remote *)w;

	if (r->job)
		r->job->ops->drop(r->job);
	work_remove(w);
	free(r->start);
	free(r);
}

/* --- toward the host --- */

static void send_record(struct remote *r, enum ep_type type, const void *payload, size_t len)
{
	uint8_t header[EP_HEADER];

	ep_header_pack(header, type, len);
	mux_write(r->w.mux, header, sizeof(header));
	mux_write(r->w.mux, payload, len);
}

/* Ends the stream with one last record. */
static void finish(struct remote *r, enum ep_type type, const void *payload, size_t len)
{
	send_record(r, type, payload, len);
	work_release(&r->w);
	drop(&r->w);
}

static void take_output(struct remote *r, bool err)
{
	uint8_t bytes[CHUNK];

	while (!r->ended[err] && mux_room_for(r->w.mux, EP_HEADER + sizeof(bytes))) {
		ssize_t k = r->job->ops->read(r->job, err, bytes, sizeof(bytes));

		if (k == 0)
			return;
		if (k < 0)
			r->ended[err] = true;
		else
			send_record(r, err ? EP_STDERR : EP_STDOUT, bytes, (size_t)k);
	}
}

/* --- from the host --- */

/* False: no further now. */
static bool feed_input(struct remote *r)
{
	const uint8_t *p;
	size_t n;

	while (r->left && (p = mux_peek(r->w.mux, &n)) && n) {
		ssize_t k = (ssize_t)(n < r->left ? n : r->left);

		if (!r->input_ended)
			k = r->job->ops->write(r->job, p, (size_t)k);
		if (k == 0)
			return false;
		if (k < 0) {
			r->input_ended = true;
			continue;
		}
		mux_consume(r->w.mux, (size_t)k);
		r->left -= (size_t)k;
	}
	return r->left == 0;
}

/* Each record handler: 1 = go on, 0 = r is gone, -1 = the client breaks the protocol. */
static int on_start(struct remote *r, const uint8_t *p, size_t len)
{
	struct ep_start s;
	struct err e = { 0 };

	if (r->job || ep_start_unpack(&s, p, len) < 0)
		return -1;
	r->tty = s.tty;
	r->job = (s.files ? remote_copy_start : remote_channel_start)(r->w.si, &s, &e);
	if (!r->job) {
		finish(r, EP_FAILED, e.msg, strlen(e.msg));
		return 0;
	}
	free(r->start);
	r->start = NULL;
	return 1;
}

static int on_input_end(struct remote *r, const uint8_t *p, size_t len)
{
	(void)p;
	if (!r->job || len)
		return -1;
	if (!r->input_ended)
		r->job->ops->end_input(r->job);
	r->input_ended = true;
	return 1;
}

static int on_window(struct remote *r, const uint8_t *p, size_t len)
{
	if (!r->job || len != 4)
		return -1;
	if (r->tty && r->job->ops->resize)
		r->job->ops->resize(r->job, le16_get(p), le16_get(p + 2));
	return 1;
}

static int on_signal(struct remote *r, const uint8_t *p, size_t len)
{
	if (!r->job || len != 1 || p[0] < 1 || p[0] > 64)
		return -1;
	if (r->job->ops->signal)
		r->job->ops->signal(r->job, p[0]);
	return 1;
}

static int (*const handlers[])(struct remote *r, const uint8_t *p, size_t len) = {
	[EP_START] = on_start,
	[EP_STDIN_END] = on_input_end,
	[EP_WINDOW] = on_window,
	[EP_SIGNAL] = on_signal,
};
enum { HANDLERS = sizeof(handlers) / sizeof(handlers[0]) };

/* The header is whole: what may come, and where it goes. */
static int begin_record(struct remote *r)
{
	if (ep_header_unpack(r->header, &r->type, &r->left) < 0)
		return -1;
	r->have = 0;
	if (r->type == EP_STDIN)
		return r->job ? 1 : -1;
	if ((int)r->type >= HANDLERS || !handlers[r->type])
		return -1;
	if (r->type != EP_START)
		return r->left <= SMALL_RECORD ? 1 : -1;
	if (r->job || r->left > EP_START_MAX)
		return -1;
	free(r->start);
	r->start = xmalloc(r->left + 1);
	return 1;
}

static size_t take(struct remote *r, uint8_t *to, size_t want)
{
	size_t got = 0, n;
	const uint8_t *p;

	while (got < want && (p = mux_peek(r->w.mux, &n)) && n) {
		if (n > want - got)
			n = want - got;
		memcpy(to + got, p, n);
		mux_consume(r->w.mux, n);
		got += n;
	}
	return got;
}

/* A record that is not input. 1: it was whole, 2: it is not yet, else as a handler. */
static int take_small(struct remote *r)
{
	uint8_t *to = r->type == EP_START ? r->start : r->small;
	size_t got = take(r, to + r->have, r->left);

	r->have += got;
	r->left -= got;
	return r->left ? 2 : handlers[r->type](r, to, r->have);
}

/* 1: all that is there was taken, or the command takes no more now; 0: r is gone; -1: protocol. */
static int take_records(struct remote *r)
{
	for (;;) {
		int rc = 1;

		if (r->header_len < EP_HEADER) {
			r->header_len += take(r, r->header + r->header_len, EP_HEADER - r->header_len);
			if (r->header_len < EP_HEADER)
				return 1;
			if (begin_record(r) < 0)
				return -1;
		}
		if (r->type == EP_STDIN)
			rc = feed_input(r) ? 1 : 2;
		else
			rc = take_small(r);
		if (rc != 1)
			return rc == 2 ? 1 : rc;
		r->header_len = 0;
	}
}

/* --- the whole --- */

/* What the command has left when all its output was taken. */
static void look_for_end(struct remote *r)
{
	enum job_state state = r->job->ops->state(r->job);
	uint8_t status[4];
	const char *why;

	if (state == JOB_FAILED) {
		why = r->job->ops->why(r->job);
		finish(r, EP_FAILED, why, strlen(why));
	} else if (state == JOB_ENDED && r->ended[0] && r->ended[1] && mux_room_for(r->w.mux, EP_HEADER + sizeof(status))) {
		le32_put(status, (uint32_t)r->job->ops->status(r->job));
		finish(r, EP_EXIT, status, sizeof(status));
	}
}

static void pump(struct work *w)
{
	struct remote *r = (struct remote *)w;
	int rc;

	if (!w->mux) {
		drop(w);
		return;
	}
	rc = take_records(r);
	if (rc == 0)
		return;
	/* Whoever closes its side has left. */
	if (rc < 0 || mux_at_end(w->mux)) {
		work_reset(w, rc < 0 ? MUX_RESET_PROTOCOL : MUX_RESET_ABORT);
		drop(w);
		return;
	}
	if (!r->job)
		return;
	take_output(r, false);
	take_output(r, true);
	look_for_end(r);
}

static void gone(struct work *w)
{
	(void)w;
}

static size_t poll_job(const struct work *w, struct pollfd fds[WORK_FDS])
{
	const struct remote *r = (const struct remote *)w;

	return r->job && r->job->ops->poll ? r->job->ops->poll(r->job, fds) : 0;
}

static const struct work_ops ops = { .pump = pump, .gone = gone, .poll = poll_job, .drop = drop };

void remote_open(struct standin *si, struct mux_stream *m, const struct ap_open *o)
{
	struct remote *r = xcalloc(1, sizeof(*r));

	(void)o;
	work_add(&r->w, si, m, &ops);
}
