#include "limactl-c/hostagent/run.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/io.h"
#include "lib/le.h"
#include "limactl-c/base/fs.h"

enum { STATUS_END = 256 }; /* exit codes, and 128 + signal */

static struct run *run_of(struct stream *st)
{
	return (struct run *)(void *)((char *)st - offsetof(struct run, st));
}

static void end(struct run *r, int status)
{
	r->busy = false;
	r->status = status;
	while (r->err_len && (r->err[r->err_len - 1] == '\n' || r->err[r->err_len - 1] == '\r'))
		r->err_len--;
	r->err[r->err_len] = '\0';
	r->done(r);
}

static void abort_with(struct run *r, int status)
{
	guest_abort(&r->st, MUX_RESET_ABORT);
	end(r, status);
}

/* --- to the guest --- */

static void add_record(struct buf *b, enum ep_type type, const void *payload, size_t n)
{
	uint8_t header[EP_HEADER];

	ep_header_pack(header, type, n);
	if (buf_add(b, header, sizeof(header)) < 0 || buf_add(b, payload, n) < 0)
		abort(); /* its max is that of memory */
}

/* Everything that is sent, as one run of bytes; -1 when the command does not fit. */
static int make_records(struct run *r)
{
	uint8_t payload[EP_START_MAX];
	ssize_t n = ep_start_pack(&r->start, payload, sizeof(payload));

	if (n < 0)
		return -1;
	r->tx.max = SIZE_MAX / 2;
	add_record(&r->tx, EP_START, payload, (size_t)n);
	for (size_t at = 0, k; at < r->input_len; at += k) {
		k = r->input_len - at < EP_PAYLOAD_MAX ? r->input_len - at : EP_PAYLOAD_MAX;
		add_record(&r->tx, EP_STDIN, r->input + at, k);
	}
	add_record(&r->tx, EP_STDIN_END, "", 0);
	return 0;
}

static void send_some(struct stream *st)
{
	struct run *r = run_of(st);
	size_t n = 1;

	while (r->sent < r->tx.len && n) {
		n = mux_write(st->mux, r->tx.data + r->sent, r->tx.len - r->sent);
		r->sent += n;
	}
	if (r->sent < r->tx.len)
		return;
	buf_free(&r->tx);
	r->sent = 0;
}

/* --- from the guest --- */

/* The end of what came; what people read must not change their terminal. */
static void keep_tail(struct run *r, const uint8_t *p, size_t n)
{
	size_t drop;

	if (n > RUN_ERR_MAX) {
		p += n - RUN_ERR_MAX;
		n = RUN_ERR_MAX;
	}
	drop = r->err_len + n > RUN_ERR_MAX ? r->err_len + n - RUN_ERR_MAX : 0;
	memmove(r->err, r->err + drop, r->err_len - drop);
	r->err_len -= drop;
	for (size_t i = 0; i < n; i++)
		r->err[r->err_len++] = p[i] == '\n' || p[i] == '\t' || (p[i] >= ' ' && p[i] != 0x7f) ? (char)p[i] : '?';
}

static int take_output(struct run *r, const uint8_t *p, size_t n)
{
	if (r->out_fd < 0)
		return buf_add(&r->out, p, n) < 0 ? RUN_TOO_LARGE : 0;
	if (n > r->out.max - r->written)
		return RUN_TOO_LARGE;
	if (io_write_full(r->out_fd, p, n) < 0) {
		r->errnum = errno;
		return RUN_WRITE_FAILED;
	}
	r->written += n;
	return 0;
}

/* 0, or how it ends. */
static int take(struct run *r, const uint8_t *p, size_t n)
{
	switch (r->type) {
	case EP_STDOUT:
		return take_output(r, p, n);
	case EP_STDERR:
	case EP_FAILED:
		keep_tail(r, p, n);
		return 0;
	case EP_EXIT:
		if (r->exit_len + n > sizeof(r->exit))
			return RUN_FAILED;
		memcpy(r->exit + r->exit_len, p, n);
		r->exit_len += n;
		return 0;
	default:
		return RUN_FAILED; /* no record of that direction */
	}
}

/* The record is complete: *last when it ends the command. */
static int finish_record(struct run *r, bool *last)
{
	r->header_len = 0;
	*last = r->type == EP_EXIT || r->type == EP_FAILED;
	if (r->type != EP_EXIT)
		return *last ? RUN_FAILED : 0;
	return r->exit_len == sizeof(r->exit) && le32_get(r->exit) < STATUS_END ? (int)le32_get(r->exit) : RUN_FAILED;
}

/* One step with the bytes at p; how many were used in *n. */
static int step(struct run *r, const uint8_t *p, size_t *n, bool *last)
{
	int rc;

	if (r->header_len < EP_HEADER) {
		*n = *n < EP_HEADER - r->header_len ? *n : EP_HEADER - r->header_len;
		memcpy(r->header + r->header_len, p, *n);
		r->header_len += *n;
		if (r->header_len < EP_HEADER)
			return 0;
		if (ep_header_unpack(r->header, &r->type, &r->left) < 0)
			return RUN_FAILED;
		return r->left ? 0 : finish_record(r, last);
	}
	*n = *n < r->left ? *n : r->left;
	rc = take(r, p, *n);
	r->left -= *n;
	return rc || r->left ? rc : finish_record(r, last);
}

static void on_readable(struct stream *st)
{
	struct run *r = run_of(st);
	const uint8_t *p;
	bool last = false;
	size_t n;
	int rc;

	while ((p = mux_peek(st->mux, &n)) && n) {
		rc = step(r, p, &n, &last);
		if (rc || last) {
			abort_with(r, rc);
			return;
		}
		mux_consume(st->mux, n);
	}
	if (mux_at_end(st->mux))
		abort_with(r, RUN_FAILED);
}

static void on_reset(struct stream *st, enum mux_reset_code code)
{
	(void)code;
	end(run_of(st), RUN_FAILED);
}

static void on_closed(struct stream *st)
{
	end(run_of(st), RUN_FAILED);
}

static const struct stream_ops ops = {
	.opened = send_some,
	.readable = on_readable,
	.writable = send_some,
	.reset = on_reset,
	.closed = on_closed,
};

void run_start(struct guest *g, struct run *r)
{
	struct ap_open o = { .kind = AP_OPEN_EXEC };
	uint8_t request[64];
	ssize_t n = ap_open_pack(&o, request, sizeof(request));

	if (n < 0)
		abort(); /* it is of one fixed size */
	buf_free(&r->out);
	buf_free(&r->tx);
	r->sent = r->written = r->header_len = r->exit_len = r->err_len = 0;
	r->status = RUN_FAILED;
	r->errnum = 0;
	r->busy = true;
	r->st = (struct stream){ .ops = &ops };
	if (make_records(r) < 0) {
		r->err_len = (size_t)snprintf(r->err, sizeof(r->err), "the command is too long");
		end(r, RUN_FAILED);
		return;
	}
	guest_open(g, &r->st, request, (size_t)n);
}

void run_sh(struct guest *g, struct run *r, const char *script, const char *a, const char *b)
{
	r->start = (struct ep_start){
		.as_root = true, .term = "", .workdir = "", .shell = "/bin/sh", .argc = b ? 7 : a ? 6 : 5,
		.argv = { "exec", "sh", "-c", script, "sh", a, b },
	};
	run_start(g, r);
}

int run_failed(const struct run *r, const char *to, const char *silent, struct err *e)
{
	bool mib = r->out.max >> 20;

	switch (r->status) {
	case RUN_TOO_LARGE:
		return err_set(e, ERR_INVALID, "it is larger than %zu %s", mib ? r->out.max >> 20 : r->out.max,
			       mib ? "MiB" : "bytes");
	case RUN_WRITE_FAILED:
		errno = r->errnum;
		return fs_write_error(to, e);
	default:
		return err_set(e, ERR_STATE, "%s", r->err_len ? r->err : silent);
	}
}

void run_cancel(struct run *r)
{
	if (!r->busy)
		return;
	r->busy = false;
	guest_abort(&r->st, MUX_RESET_ABORT);
}

void run_fini(struct run *r)
{
	run_cancel(r);
	buf_free(&r->out);
	buf_free(&r->tx);
}
