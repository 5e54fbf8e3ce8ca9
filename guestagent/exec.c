#include "guestagent/exec.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "guestagent/job.h"
#include "guestagent/pty.h"
#include "lib/exec_reader.h"
#include "lib/le.h"
#include "lib/log.h"

enum {
	HANGUP_GRACE_MS = 2000,
	TTY_DRAIN_MS = 500,   /* a terminal whose leader has ended says so itself; this is for one that does not */
	BOUNCE_MAX = 4096,
};

/* One of our ends. */
struct end {
	struct ga_watch watch;
	struct job *job;
	enum ep_type type; /* of the records it makes */
	bool ready;        /* since the last edge, no call has said EAGAIN */
	size_t left;       /* bytes still to be read once the command has ended */
};

struct job {
	struct ga_stream stream;
	struct ga_child child; /* pid 0: not started, or ended */
	struct ga_timer timer; /* to SIGKILL, or to giving up on a terminal's end */
	struct end in, out, err;
	bool tty, ended, hung_up;
	int status;
	struct ep_reader from_host;
};

static void job_free(struct job *j)
{
	struct ga_loop *loop = &j->stream.ga->loop;

	ga_timer_stop(loop, &j->timer);
	ga_loop_close(loop, &j->in.watch);
	ga_loop_close(loop, &j->out.watch);
	ga_loop_close(loop, &j->err.watch);
	j->stream.ga->jobs--;
	ep_reader_free(&j->from_host);
	free(j);
}

static void signal_group(const struct job *j, int number)
{
	/* Once the leader was reaped its number may be another process's. */
	if (j->child.pid > 0)
		kill(-j->child.pid, number);
}

static void hang_up(struct job *j)
{
	struct ga_loop *loop = &j->stream.ga->loop;

	if (j->hung_up)
		return;
	j->hung_up = true;
	ga_loop_close(loop, &j->in.watch);
	if (j->tty)
		ga_loop_close(loop, &j->out.watch);
	if (j->child.pid <= 0)
		return;
	signal_group(j, SIGHUP);
	signal_group(j, SIGCONT);
	ga_timer_set(loop, &j->timer, HANGUP_GRACE_MS);
}

/* --- toward the host --- */

static void send_record(struct job *j, enum ep_type type, const void *payload, size_t len)
{
	uint8_t header[EP_HEADER];

	ga_before_data(j->stream.ga);
	ep_header_pack(header, type, len);
	mux_write(j->stream.mux, header, sizeof(header));
	mux_write(j->stream.mux, payload, len);
}

/* Reads up to limit payload bytes into a record. Returns read()'s result, or -2 when the stream has no room. */
static ssize_t read_record(struct end *in, size_t limit)
{
	struct mux_stream *m = in->job->stream.mux;
	size_t room = mux_room(m), n = EP_HEADER + EP_PAYLOAD_MAX;
	uint8_t bounce[BOUNCE_MAX], *p = mux_tx_reserve(m, &n);
	ssize_t k;

	/* Where the window wraps around, what is contiguous may be too little for a record of use. */
	if (p && n >= BOUNCE_MAX) {
		n -= EP_HEADER;
		k = read(in->watch.fd, p + EP_HEADER, n < limit ? n : limit);
		if (k > 0) {
			ga_before_data(in->job->stream.ga);
			ep_header_pack(p, in->type, (size_t)k);
		}
		mux_tx_commit(m, k > 0 ? EP_HEADER + (size_t)k : 0);
		return k;
	}
	if (p)
		mux_tx_commit(m, 0);
	if (room <= EP_HEADER)
		return -2; /* we have asked for more than there is, so writable() tells when to go on */
	n = room - EP_HEADER < sizeof(bounce) ? room - EP_HEADER : sizeof(bounce);
	k = read(in->watch.fd, bounce, n < limit ? n : limit);
	if (k > 0)
		send_record(in->job, in->type, bounce, (size_t)k);
	return k;
}

static void pump_end(struct end *in)
{
	struct job *j = in->job;

	while (in->watch.fd >= 0 && in->ready) {
		ssize_t k;

		if (j->ended && in->left == 0) {
			ga_loop_close(&j->stream.ga->loop, &in->watch);
			return;
		}
		k = read_record(in, j->ended ? in->left : EP_PAYLOAD_MAX);
		if (k == -2)
			return;
		if (k > 0) {
			if (j->ended)
				in->left -= (size_t)k;
		} else if (k < 0 && errno == EAGAIN) {
			in->ready = false;
		} else if (k == 0 || errno != EINTR) {
			/* A terminal without a reader on the other end says EIO: that is its end. */
			ga_loop_close(&j->stream.ga->loop, &in->watch);
		}
	}
}

/* --- from the host --- */

/* What a command does not read any more is dropped. */
static size_t on_input(void *ctx, const uint8_t *p, size_t n)
{
	struct job *j = ctx;

	while (j->in.watch.fd >= 0 && j->in.ready) {
		ssize_t k = write(j->in.watch.fd, p, n);

		if (k > 0)
			return (size_t)k;
		if (k < 0 && errno == EAGAIN)
			j->in.ready = false;
		else if (k < 0 && errno != EINTR)
			ga_loop_close(&j->stream.ga->loop, &j->in.watch);
	}
	return j->in.watch.fd >= 0 ? 0 : n;
}

static void add_end(struct job *j, struct end *end, int fd, enum ep_type type, uint32_t events)
{
	end->job = j;
	end->type = type;
	end->watch.fd = fd;
	if (fd >= 0 && ga_loop_add(&j->stream.ga->loop, &end->watch, events | EPOLLET) < 0) {
		log_error("exec: %s", strerror(errno));
		close(fd);
		end->watch.fd = -1;
	}
}

/* Ends the stream with one last record. The caller frees the job. */
static void say_and_release(struct job *j, enum ep_type type, const void *payload, size_t len)
{
	send_record(j, type, payload, len);
	ga_stream_release(&j->stream);
}

static int on_start(void *ctx, const struct ep_start *s)
{
	struct job *j = ctx;
	struct ga_job_fds fds;
	struct err e;
	pid_t pid = ga_job_start(j->stream.ga, s, &fds, &e);

	if (pid < 0) {
		say_and_release(j, EP_FAILED, e.msg, strlen(e.msg));
		job_free(j);
		return 0;
	}
	j->tty = s->tty;
	j->child.pid = pid;
	ga_child_add(&j->stream.ga->loop, &j->child);
	add_end(j, &j->in, fds.in, EP_STDIN, EPOLLOUT);
	add_end(j, &j->out, fds.out, EP_STDOUT, EPOLLIN);
	add_end(j, &j->err, fds.err, EP_STDERR, EPOLLIN);
	return 1;
}

static void on_input_end(void *ctx)
{
	struct job *j = ctx;

	if (j->tty && j->in.watch.fd >= 0)
		ga_pty_end_input(j->in.watch.fd);
	ga_loop_close(&j->stream.ga->loop, &j->in.watch);
}

static void on_window(void *ctx, uint16_t rows, uint16_t cols)
{
	struct job *j = ctx;

	if (j->tty && j->out.watch.fd >= 0)
		ga_pty_resize(j->out.watch.fd, rows, cols);
}

static void on_signal(void *ctx, int number)
{
	struct job *j = ctx;
	pid_t group = -1;

	if (j->tty && j->out.watch.fd >= 0 && j->child.pid > 0)
		group = ga_pty_foreground(j->out.watch.fd);
	if (group > 1)
		kill(-group, number);
	else
		signal_group(j, number);
}

static const struct ep_reader_ops reader_ops = {
	.start = on_start,
	.input = on_input,
	.input_end = on_input_end,
	.window = on_window,
	.signal = on_signal,
};

/* --- the whole --- */

static void finish(struct job *j)
{
	uint8_t status[4];

	le32_put(status, (uint32_t)j->status);
	say_and_release(j, EP_EXIT, status, sizeof(status));
	job_free(j);
}

/* The client is gone: what is left is to see the command end. Frees the job when it has. */
static void abandon(struct job *j)
{
	struct ga_loop *loop = &j->stream.ga->loop;

	hang_up(j);
	ga_loop_close(loop, &j->out.watch);
	ga_loop_close(loop, &j->err.watch);
	if (j->child.pid <= 0)
		job_free(j);
}

static void pump(struct job *j)
{
	int r;

	if (!j->stream.mux) {
		/* Nobody is there any more; the job waits for its process only. */
		if (j->ended)
			job_free(j);
		return;
	}
	r = ep_reader_take(&j->from_host, j->stream.mux, &reader_ops, j);
	if (r == 0)
		return;
	if (r < 0 || (!j->from_host.started && mux_at_end(j->stream.mux))) {
		ga_stream_reset(&j->stream, r < 0 ? MUX_RESET_PROTOCOL : MUX_RESET_ABORT);
		abandon(j);
		return;
	}
	if (mux_at_end(j->stream.mux) && !j->ended)
		hang_up(j);
	pump_end(&j->out);
	pump_end(&j->err);
	if (j->ended && j->out.watch.fd < 0 && j->err.watch.fd < 0 && mux_room_for(j->stream.mux, EP_HEADER + 4))
		finish(j);
}

static void on_end(struct ga_watch *w, uint32_t events)
{
	struct end *end = ga_of(w, struct end, watch);

	(void)events;
	end->ready = true;
	pump(end->job);
}

/* What is in the pipe now was written before the end; what a process left behind writes later is its own affair. */
static size_t unread(int fd)
{
	int n = 0;

	return fd >= 0 && ioctl(fd, FIONREAD, &n) == 0 && n > 0 ? (size_t)n : 0;
}

static void on_child(struct ga_child *c, int status)
{
	struct job *j = ga_of(c, struct job, child);
	struct ga_loop *loop = &j->stream.ga->loop;

	j->ended = true;
	j->status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
	ga_timer_stop(loop, &j->timer);
	ga_loop_close(loop, &j->in.watch);
	if (j->tty) {
		/* The kernel hangs the terminal up with its leader, so its end comes by itself. */
		j->out.left = SIZE_MAX;
		ga_timer_set(loop, &j->timer, TTY_DRAIN_MS);
	} else {
		j->out.left = unread(j->out.watch.fd);
		j->err.left = unread(j->err.watch.fd);
		j->out.ready = j->err.ready = true;
	}
	pump(j);
}

static void on_timer(struct ga_timer *t)
{
	struct job *j = ga_of(t, struct job, timer);

	if (!j->ended) {
		signal_group(j, SIGKILL);
		return;
	}
	j->out.left = 0;
	j->out.ready = true;
	pump(j);
}

static void stream_moved(struct ga_stream *s)
{
	pump(ga_of(s, struct job, stream));
}

static void stream_gone(struct ga_stream *s)
{
	abandon(ga_of(s, struct job, stream));
}

static const struct ga_stream_ops ops = { .readable = stream_moved, .writable = stream_moved, .gone = stream_gone };

void ga_exec_open(struct ga *ga, struct mux_stream *m, const struct ap_open *o)
{
	struct job *j = ga->jobs < GA_JOBS_MAX ? calloc(1, sizeof(*j)) : NULL;

	(void)o;
	if (!j) {
		mux_reset(m, MUX_RESET_LIMIT);
		return;
	}
	ga->jobs++;
	j->in.watch = j->out.watch = j->err.watch = (struct ga_watch){ -1, on_end };
	j->timer.fn = on_timer;
	j->child.fn = on_child;
	ga_stream_attach(&j->stream, ga, m, &ops);
}
