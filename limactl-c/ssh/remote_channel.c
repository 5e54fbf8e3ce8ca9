/* A command as the SSH server runs it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/cleanup.h"
#include "limactl-c/base/mem.h"
#include "limactl-c/ssh/greeting.h"
#include "limactl-c/ssh/line.h"
#include "limactl-c/ssh/remote.h"

enum { TERM_MAX = 64, VEOF_BYTE = 4 };

struct shell {
	struct job j; /* first */
	struct chan chan;
	struct buf line;
	char term[TERM_MAX];
	uint16_t rows, cols;
	bool tty, as_root;
	bool has_tty, runs;  /* the server has said so */
	bool asked;          /* it has been told to run it */
	bool output_ended;
	bool input_over;     /* an end of input that has not been passed on */
	struct greeting greeting;
	const char *why;
};

static const struct {
	const char *name;
	int number;
} signals[] = {
	{ "HUP", 1 },   { "INT", 2 },   { "QUIT", 3 },  { "ILL", 4 },   { "ABRT", 6 },  { "FPE", 8 }, { "KILL", 9 },
	{ "USR1", 10 }, { "SEGV", 11 }, { "USR2", 12 }, { "PIPE", 13 }, { "ALRM", 14 }, { "TERM", 15 },
};

int remote_signal_number(const char *name)
{
	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		if (!strcmp(signals[i].name, name))
			return signals[i].number;
	return 0;
}

/* --- the start --- */

static enum job_state failed(struct shell *s, const char *why)
{
	s->why = why;
	return JOB_FAILED;
}

static int ask_for_tty(struct shell *s)
{
	return libssh2_channel_request_pty_ex(s->chan.ssh, s->term, (unsigned)strlen(s->term), NULL, 0, s->cols ? s->cols : 80,
					      s->rows ? s->rows : 24, 0, 0);
}

static enum job_state begin(struct shell *s)
{
	int rc;

	if (s->tty && !s->has_tty) {
		rc = ask_for_tty(s);
		if (rc)
			return rc == LIBSSH2_ERROR_EAGAIN ? JOB_STARTING : failed(s, "the guest's SSH server gives no terminal");
		s->has_tty = true;
	}
	s->asked = true;
	rc = libssh2_channel_process_startup(s->chan.ssh, "exec", 4, s->line.data, (unsigned)s->line.len);
	if (rc)
		return rc == LIBSSH2_ERROR_EAGAIN ? JOB_STARTING : failed(s, "the guest's SSH server runs no command");
	s->runs = true;
	buf_free(&s->line);
	return JOB_RUNS;
}

static enum job_state state(struct job *j)
{
	struct shell *s = (struct shell *)j;

	switch (pool_state(&j->si->pool, &s->chan)) {
	case CHAN_OPEN:
		break;
	case CHAN_REFUSED:
		return failed(s, "the guest's SSH server allows no more sessions");
	case CHAN_LOST:
		return failed(s, "the connection to the guest's SSH server was lost");
	default:
		return JOB_STARTING;
	}
	if (!s->runs)
		return begin(s);
	if (libssh2_channel_eof(s->chan.ssh) != 1 || libssh2_channel_wait_closed(s->chan.ssh) == LIBSSH2_ERROR_EAGAIN)
		return JOB_RUNS;
	return JOB_ENDED;
}

/* --- bytes --- */

static ssize_t write_input(struct job *j, const void *p, size_t n)
{
	struct shell *s = (struct shell *)j;
	enum job_state st = state(j);
	ssize_t k;

	if (st > JOB_RUNS)
		return -1;
	if (st == JOB_STARTING || !connection_has_room(s->chan.on))
		return 0;
	k = libssh2_channel_write(s->chan.ssh, p, n);
	return k == LIBSSH2_ERROR_EAGAIN ? 0 : k < 0 ? -1 : k;
}

/* A terminal knows no end of input but the byte that says it. */
static void pass_end(struct shell *s)
{
	static const char veof = VEOF_BYTE;

	if (!s->input_over || state(&s->j) != JOB_RUNS)
		return;
	if (s->tty ? libssh2_channel_write(s->chan.ssh, &veof, 1) != 1 :
		     libssh2_channel_send_eof(s->chan.ssh) == LIBSSH2_ERROR_EAGAIN)
		return;
	s->input_over = false;
}

static void end_input(struct job *j)
{
	struct shell *s = (struct shell *)j;

	s->input_over = true;
	pass_end(s);
}

/* What the greeting has not kept. */
static ssize_t read_held(struct shell *s, void *p, size_t n)
{
	n = n < s->greeting.held.len ? n : s->greeting.held.len;
	memcpy(p, s->greeting.held.data, n);
	buf_drop_front(&s->greeting.held, n);
	return (ssize_t)n;
}

static ssize_t read_output(struct job *j, bool err, void *p, size_t n)
{
	struct shell *s = (struct shell *)j;
	enum job_state st = state(j);
	ssize_t k;

	pass_end(s);
	if (st == JOB_STARTING)
		return 0;
	if (!err && s->greeting.over && s->greeting.held.len)
		return read_held(s, p, n);
	if (st == JOB_FAILED || (!err && s->output_ended))
		return -1;
	if (!err && !s->greeting.over && n > GREETING_MAX - s->greeting.held.len)
		n = GREETING_MAX - s->greeting.held.len;
	k = libssh2_channel_read_ex(s->chan.ssh, err, p, n);
	if (k == LIBSSH2_ERROR_EAGAIN)
		return 0;
	if (err || s->greeting.over)
		return k > 0 ? k : -1;
	if (k > 0) {
		greeting_take(&s->greeting, p, (size_t)k);
	} else {
		s->output_ended = true;
		greeting_end(&s->greeting);
	}
	return read_output(j, err, p, n);
}

/* --- the end --- */

static int status(struct job *j)
{
	struct shell *s = (struct shell *)j;
	LIBSSH2_SESSION *session = s->chan.on->ssh;
	char *name = NULL, *said = NULL, *language = NULL;
	int number = 0;

	libssh2_channel_get_exit_signal(s->chan.ssh, &name, NULL, &said, NULL, &language, NULL);
	if (name)
		number = remote_signal_number(name);
	for (size_t i = 0; i < 3; i++) {
		char *text = (char *[]){ name, said, language }[i];

		if (text)
			libssh2_free(session, text);
	}
	return number ? 128 + number : name ? 128 : libssh2_channel_get_exit_status(s->chan.ssh);
}

static const char *why(struct job *j)
{
	return ((struct shell *)j)->why;
}

static void resize(struct job *j, uint16_t rows, uint16_t cols)
{
	struct shell *s = (struct shell *)j;

	s->rows = rows;
	s->cols = cols;
	if (state(j) == JOB_RUNS)
		libssh2_channel_request_pty_size_ex(s->chan.ssh, cols, rows, 0, 0);
}

/* libssh2 sends no signals, and a server may heed none: another command does. */
static void send_signal(struct job *j, unsigned number)
{
	struct shell *s = (struct shell *)j;
	auto_buf line = BUF_INIT(LINE_MAX_BYTES);

	if (*s->greeting.pid && state(j) == JOB_RUNS &&
	    line_signal(&line, s->greeting.pid, number, s->tty, s->as_root) == 0)
		errand_start(j->si, &line, NULL);
}

/* It can be hung up once it has said which process it is. */
static bool leave(struct job *j)
{
	struct shell *s = (struct shell *)j;
	char none[4096];

	if (!s->asked)
		return true;
	for (int err = 0; err < 2; err++)
		while (read_output(j, err, none, sizeof(none)) > 0)
			;
	return s->greeting.over || state(j) > JOB_RUNS;
}

static void drop(struct job *j)
{
	struct shell *s = (struct shell *)j;
	auto_buf line = BUF_INIT(LINE_MAX_BYTES);

	if (!j->si->ended && *s->greeting.pid && state(j) == JOB_RUNS && line_hang_up(&line, s->greeting.pid, s->as_root) == 0)
		errand_start(j->si, &line, NULL);
	pool_close(&s->chan);
	buf_free(&s->line);
	buf_free(&s->greeting.held);
	free(s);
}

static const struct job_ops ops = {
	.state = state, .write = write_input, .end_input = end_input, .read = read_output, .status = status,
	.why = why,     .resize = resize,     .signal = send_signal,  .leave = leave, .drop = drop,
};

struct job *remote_channel_start(struct standin *si, const struct ep_start *start, struct err *e)
{
	struct shell *s = xcalloc(1, sizeof(*s));

	*s = (struct shell){ .j = { &ops, si }, .line = BUF_INIT(LINE_MAX_BYTES), .greeting = GREETING_INIT, .rows = start->rows,
			     .cols = start->cols, .tty = start->tty, .as_root = start->as_root };
	snprintf(s->term, sizeof(s->term), "%s", start->term);
	if (line_command(&s->line, start) < 0) {
		buf_free(&s->line);
		free(s);
		err_set(e, ERR_INVALID, "the command is too long");
		return NULL;
	}
	pool_open(&si->pool, &s->chan, "session", NULL, 0);
	return &s->j;
}
