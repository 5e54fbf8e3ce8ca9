#include "limactl-c/cli/exec.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "lib/cleanup.h"
#include "lib/io.h"
#include "limactl-c/cli/terminal.h"

enum {
	IN_MAX = 256 * 1024,
	OUT_MAX = 128 * 1024, /* one record of input, and signals */
	PACKED = EP_HEADER + EP_PAYLOAD_MAX,
	UNHEARD_MAX = 3,
};

/* The conversation. */
struct exec {
	int fd;
	struct buf in, out; /* records not yet complete, records not yet sent */
	bool tty;
	bool stdin_open;
	bool deaf; /* the guest takes nothing any more */
	bool done;
	int code;
	unsigned unheard;         /* signals forwarded since the guest last said something */
	struct timespec first;    /* when the first of these came */
};

/* Signals reach the loop through a pipe. */
static int signal_pipe[2] = { -1, -1 };

/* Signals, and their numbers in the guest; 0: its effect is here. */
static const struct forwarded {
	int here;
	uint8_t there;
	bool asks_to_end;
} forwarded[] = {
	{ SIGINT, 2, true },   { SIGTERM, 15, true }, { SIGHUP, 1, true },   { SIGQUIT, 3, true }, { SIGUSR1, 10, false },
	{ SIGUSR2, 12, false }, { SIGWINCH, 0, false }, { SIGTSTP, 0, false }, { SIGCONT, 0, false },
};
enum { FORWARDED = sizeof(forwarded) / sizeof(*forwarded) };

static void on_signal(int sig)
{
	int saved = errno;
	unsigned char c = (unsigned char)sig;

	/* A full pipe already holds plenty to forward. */
	if (write(signal_pipe[1], &c, 1) < 0)
		errno = saved;
	errno = saved;
}

/* What must be undone when we leave, beside the terminal. */
struct undo {
	struct sigaction old[FORWARDED];
};

static int catch_signals(struct undo *u, struct err *e)
{
	struct sigaction sa = { .sa_handler = on_signal };

	if (io_pipe(signal_pipe, e) < 0)
		return -1;
	io_set_nonblock(signal_pipe[0], true);
	io_set_nonblock(signal_pipe[1], true);
	for (size_t i = 0; i < FORWARDED; i++) {
		sigaction(forwarded[i].here, &sa, &u->old[i]);
		/* Who started us wants us to live on, with what we run: nohup, a script's background job. */
		if (u->old[i].sa_handler == SIG_IGN)
			sigaction(forwarded[i].here, &u->old[i], NULL);
	}
	return 0;
}

static void restore(struct undo *u)
{
	terminal_give();
	for (size_t i = 0; i < FORWARDED; i++)
		sigaction(forwarded[i].here, &u->old[i], NULL);
	for (int i = 0; i < 2; i++)
		close(steal_fd(&signal_pipe[i]));
}

static int lost(struct err *e, const char *why)
{
	return err_set(e, ERR_STATE, "the connection to the guest was lost%s%s", *why ? ": " : "", why);
}

/* Sends what the socket takes now. Waiting here could be for ever: the guest may take no input before we took output.
 * A guest that takes nothing any more has ended; its last words are still to be read, so this is no failure. */
static void flush(struct exec *x)
{
	while (x->out.len) {
		ssize_t k = send(x->fd, x->out.data, x->out.len, MSG_NOSIGNAL | MSG_DONTWAIT);

		if (k > 0) {
			buf_drop_front(&x->out, (size_t)k);
		} else if (errno == EAGAIN) {
			return;
		} else if (errno != EINTR) {
			x->deaf = true;
			x->stdin_open = false;
			buf_drop_front(&x->out, x->out.len);
		}
	}
}

/* Sends a record; the payload lies behind EP_HEADER free bytes at record. */
static int send_record(struct exec *x, enum ep_type type, uint8_t *record, size_t len, struct err *e)
{
	if (x->deaf)
		return 0;
	ep_header_pack(record, type, len);
	if (buf_add(&x->out, record, EP_HEADER + len) < 0)
		return lost(e, "the guest takes no input");
	flush(x);
	return 0;
}

static int send_window(struct exec *x, struct err *e)
{
	uint8_t record[EP_HEADER + 4];
	uint16_t rows, cols;

	terminal_size(&rows, &cols);
	record[EP_HEADER] = (uint8_t)rows;
	record[EP_HEADER + 1] = (uint8_t)(rows >> 8);
	record[EP_HEADER + 2] = (uint8_t)cols;
	record[EP_HEADER + 3] = (uint8_t)(cols >> 8);
	return send_record(x, EP_WINDOW, record, 4, e);
}

/* Whoever asks us to end again and again while the guest is silent wants to be rid of us: it may hang. */
static bool given_up(struct exec *x)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	if (!x->unheard++)
		x->first = now;
	return x->unheard >= UNHEARD_MAX && now.tv_sec > x->first.tv_sec + 1;
}

static int handle_signal(struct exec *x, int sig, struct err *e)
{
	uint8_t record[EP_HEADER + 1];
	size_t i = 0;

	while (i < FORWARDED - 1 && forwarded[i].here != sig)
		i++;
	if (forwarded[i].asks_to_end && given_up(x))
		return lost(e, "it does not react to signals");
	record[EP_HEADER] = forwarded[i].there;
	if (forwarded[i].there)
		return send_record(x, EP_SIGNAL, record, 1, e);
	if (sig == SIGTSTP)
		terminal_suspend();
	else if (sig == SIGCONT && x->tty)
		terminal_take(); /* stopped without a word, we could not give it */
	return x->tty ? send_window(x, e) : 0;
}

static int forward_signals(struct exec *x, struct err *e)
{
	unsigned char sig;

	while (read(signal_pipe[0], &sig, 1) == 1)
		if (handle_signal(x, sig, e) < 0)
			return -1;
	return 0;
}

static int take_stdin(struct exec *x, struct err *e)
{
	uint8_t record[PACKED];
	ssize_t k = read(STDIN_FILENO, record + EP_HEADER, EP_PAYLOAD_MAX);

	if (k < 0 && (errno == EINTR || errno == EAGAIN))
		return 0;
	if (k > 0)
		return send_record(x, EP_STDIN, record, (size_t)k, e);
	x->stdin_open = false;
	return send_record(x, EP_STDIN_END, record, 0, e);
}

/* Waits for as long as it takes; signals are still forwarded, so that the writer at the other end can be ended. */
static int write_out(struct exec *x, int fd, const uint8_t *p, size_t n, struct err *e)
{
	while (n) {
		ssize_t k = write(fd, p, n);

		if (k >= 0) {
			p += k;
			n -= (size_t)k;
			continue;
		}
		if (errno == EAGAIN)
			poll((struct pollfd[]){ { .fd = fd, .events = POLLOUT }, { .fd = signal_pipe[0], .events = POLLIN } }, 2, -1);
		else if (errno != EINTR)
			return err_errno(e, fd == STDOUT_FILENO ? "standard output" : "standard error");
		if (forward_signals(x, e) < 0)
			return -1;
	}
	return 0;
}

static int take_record(struct exec *x, enum ep_type type, const uint8_t *p, size_t len, struct err *e)
{
	switch (type) {
	case EP_STDOUT:
		return write_out(x, STDOUT_FILENO, p, len, e);
	case EP_STDERR:
		return write_out(x, STDERR_FILENO, p, len, e);
	case EP_EXIT:
		if (len != 4)
			return lost(e, "malformed exit status");
		x->code = (int)((uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24) & 255;
		x->done = true;
		return 0;
	case EP_FAILED:
		return err_set(e, ERR_STATE, "%.*s", (int)len, (const char *)p);
	default:
		return lost(e, "unexpected record");
	}
}

static int take_records(struct exec *x, struct err *e)
{
	size_t at = 0, len;
	enum ep_type type;
	int rc = 0;

	while (rc == 0 && !x->done && x->in.len - at >= EP_HEADER) {
		const uint8_t *p = (const uint8_t *)x->in.data + at;

		if (ep_header_unpack(p, &type, &len) < 0) {
			rc = lost(e, "malformed record");
			break;
		}
		if (x->in.len - at < EP_HEADER + len)
			break;
		rc = take_record(x, type, p + EP_HEADER, len, e);
		at += EP_HEADER + len;
	}
	buf_drop_front(&x->in, at);
	return rc;
}

static int take_socket(struct exec *x, struct err *e)
{
	char *to = buf_reserve(&x->in, PACKED);
	ssize_t k = to ? recv(x->fd, to, PACKED, 0) : -1;

	if (k < 0 && to && errno == EINTR)
		return 0;
	if (k <= 0)
		return lost(e, "");
	x->unheard = 0;
	buf_commit(&x->in, (size_t)k);
	return take_records(x, e);
}

static int send_start(struct exec *x, const struct ep_start *start, struct err *e)
{
	uint8_t record[PACKED];
	ssize_t n = ep_start_pack(start, record + EP_HEADER, EP_START_MAX);

	if (n < 0)
		return err_set(e, ERR_USAGE, "the command is too long: at most %d arguments and %d bytes in all",
			       EP_ARGS_MAX, EP_START_MAX);
	return send_record(x, EP_START, record, (size_t)n, e);
}

static int converse(struct exec *x, struct err *e)
{
	while (!x->done) {
		struct pollfd p[] = {
			{ .fd = x->fd, .events = (short)(POLLIN | (x->out.len ? POLLOUT : 0)) },
			{ .fd = signal_pipe[0], .events = POLLIN },
			/* No more input than the guest takes. */
			{ .fd = x->stdin_open && !x->out.len ? STDIN_FILENO : -1, .events = POLLIN },
		};

		if (poll(p, 3, -1) < 0 && errno != EINTR)
			return err_errno(e, "poll");
		if (forward_signals(x, e) < 0)
			return -1;
		if (p[0].revents & POLLOUT)
			flush(x);
		if (p[0].revents & ~POLLOUT && take_socket(x, e) < 0)
			return -1;
		if (!x->done && p[2].revents && take_stdin(x, e) < 0)
			return -1;
	}
	return x->code;
}

int exec_run(int fd, struct buf *early, const struct ep_start *start, struct err *e)
{
	struct exec x = { .fd = fd, .in = BUF_INIT(IN_MAX), .out = BUF_INIT(OUT_MAX), .tty = start->tty, .stdin_open = true };
	struct undo u;
	int rc = -1;

	if (catch_signals(&u, e) < 0)
		return -1;
	if (start->tty)
		terminal_take();
	if (buf_add(&x.in, early->data, early->len) == 0 && send_start(&x, start, e) == 0 && take_records(&x, e) == 0)
		rc = x.done ? x.code : converse(&x, e);
	restore(&u);
	buf_free(&x.in);
	buf_free(&x.out);
	return rc;
}
