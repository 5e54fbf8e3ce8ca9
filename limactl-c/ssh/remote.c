#include "limactl-c/ssh/remote.h"

#include <stdlib.h>
#include <string.h>

#include "lib/exec_reader.h"
#include "lib/le.h"
#include "limactl-c/base/mem.h"

enum { CHUNK = 16 * 1024 };

struct remote {
	struct work w;   /* first */
	struct job *job; /* NULL: START has not come whole */
	bool tty;
	bool input_ended;
	bool ended[2];   /* output, error output */
	struct ep_reader from_host;
};

static void drop(struct work *w)
{
	struct remote *r = (struct remote *)w;

	if (r->job)
		r->job->ops->drop(r->job);
	work_remove(w);
	ep_reader_free(&r->from_host);
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

/* What a command does not read any more is dropped. */
static size_t on_input(void *ctx, const uint8_t *p, size_t n)
{
	struct remote *r = ctx;
	ssize_t k = r->input_ended ? (ssize_t)n : r->job->ops->write(r->job, p, n);

	if (k < 0)
		r->input_ended = true;
	return k < 0 ? n : (size_t)k;
}

static int on_start(void *ctx, const struct ep_start *s)
{
	struct remote *r = ctx;
	struct err e = { 0 };

	r->tty = s->tty;
	r->job = (s->files ? remote_copy_start : remote_channel_start)(r->w.si, s, &e);
	if (r->job)
		return 1;
	finish(r, EP_FAILED, e.msg, strlen(e.msg));
	return 0;
}

static void on_input_end(void *ctx)
{
	struct remote *r = ctx;

	if (!r->input_ended)
		r->job->ops->end_input(r->job);
	r->input_ended = true;
}

static void on_window(void *ctx, uint16_t rows, uint16_t cols)
{
	struct remote *r = ctx;

	if (r->tty && r->job->ops->resize)
		r->job->ops->resize(r->job, rows, cols);
}

static void on_signal(void *ctx, int number)
{
	struct remote *r = ctx;

	if (r->job->ops->signal)
		r->job->ops->signal(r->job, number);
}

static const struct ep_reader_ops reader_ops = {
	.start = on_start,
	.input = on_input,
	.input_end = on_input_end,
	.window = on_window,
	.signal = on_signal,
};

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

static void leave(struct work *w)
{
	struct remote *r = (struct remote *)w;

	if (!r->job || r->job->ops->leave(r->job))
		drop(w);
}

static void pump(struct work *w)
{
	struct remote *r = (struct remote *)w;
	int rc;

	if (!w->mux) {
		leave(w);
		return;
	}
	rc = ep_reader_take(&r->from_host, w->mux, &reader_ops, r);
	if (rc == 0)
		return;
	/* Whoever closes its side has left. */
	if (rc < 0 || mux_at_end(w->mux)) {
		work_reset(w, rc < 0 ? MUX_RESET_PROTOCOL : MUX_RESET_ABORT);
		leave(w);
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
