#include "limactl-c/hostagent/events.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/buf.h"
#include "lib/cleanup.h"
#include "lib/io.h"
#include "limactl-c/base/mem.h"
#include "limactl-c/base/text.h"

enum {
	SINK_MAX = 256 * 1024,     /* bytes a reader may be behind */
	ERRORS_MAX = SINK_MAX / 2, /* of a line, so that each line has a place of its own there */
	ESCAPED = sizeof("\\u0001") - 1, /* the most that a byte becomes in JSON */
};

/* Somebody who reads lines. */
struct sink {
	struct events *ev;
	struct sink *next;
	int fd;
	struct watch *watch; /* NULL: a file, written at once */
	struct buf out;
	uint64_t dropped; /* lines it was too slow for; it is told when it has read what there is */
	bool last;        /* close it when out is empty */
};

struct events {
	struct loop *loop;
	struct sink *sinks;
	struct sink *ready; /* one of them, until running or exiting */
	uint16_t ssh_port;
	char *newest; /* line about the state, for who comes later */
};

static void sink_free(struct sink *s)
{
	struct sink **at = &s->ev->sinks;

	while (*at != s)
		at = &(*at)->next;
	*at = s->next;
	if (s->ev->ready == s)
		s->ev->ready = NULL;
	watch_free(s->watch);
	close(s->fd);
	buf_free(&s->out);
	free(s);
}

/* What a reader gets in place of what it was too slow for: how many lines that were, and how things stand. */
static void tell_gap(struct sink *s)
{
	char now[32];

	text_now(now, sizeof(now));
	buf_addf(&s->out, "{\"time\":\"%s\",\"status\":{\"eventsDropped\":%" PRIu64 "}}\n%s", now, s->dropped,
		 s->ev->newest ? s->ev->newest : "");
	s->dropped = 0;
}

/* Writes what is there; frees s when it is done for or the reader is gone. */
static void sink_flush(struct sink *s)
{
	while (s->out.len || s->dropped) {
		ssize_t k;

		if (!s->out.len)
			tell_gap(s);
		k = write(s->fd, s->out.data, s->out.len);

		if (k >= 0) {
			buf_drop_front(&s->out, (size_t)k);
		} else if (errno == EAGAIN && s->watch) {
			watch_set(s->watch, WATCH_READ | WATCH_WRITE);
			return;
		} else if (errno != EINTR) {
			sink_free(s);
			return;
		}
	}
	if (s->last)
		sink_free(s);
	else if (s->watch)
		watch_set(s->watch, WATCH_READ);
}

/* A reader says nothing: what becomes readable is its end. */
static void on_sink(void *ctx, unsigned events)
{
	struct sink *s = ctx;
	char drop[256];
	ssize_t k;

	if (events & (WATCH_READ | WATCH_ERROR)) {
		k = read(s->fd, drop, sizeof(drop));
		if (k == 0 || (k < 0 && errno != EAGAIN && errno != EINTR)) {
			sink_free(s);
			return;
		}
	}
	sink_flush(s);
}

static struct sink *sink_new(struct events *ev, int fd)
{
	struct sink *s = xcalloc(1, sizeof(*s));

	s->ev = ev;
	s->fd = fd;
	s->out.max = SINK_MAX;
	s->watch = watch_new(ev->loop, fd, on_sink, s);
	s->next = ev->sinks;
	ev->sinks = s;
	return s;
}

/* Takes back all but the line that may have gone out in part: a reader that stands still holds no memory. */
static void take_back(struct sink *s)
{
	const char *end = memchr(s->out.data, '\n', s->out.len);
	size_t keep = (size_t)(end - s->out.data) + 1; /* whole lines are put there, and one alone would have had room */
	struct buf front = BUF_INIT(SINK_MAX);

	for (const char *p = s->out.data + keep; p < s->out.data + s->out.len; p++)
		s->dropped += *p == '\n';
	if (buf_add(&front, s->out.data, keep) < 0)
		abort(); /* it is far below the maximum: memory is short */
	buf_free(&s->out);
	s->out = front;
}

static void sink_put(struct sink *s, const char *line)
{
	if (s->dropped || buf_adds(&s->out, line) < 0) {
		if (!s->dropped++)
			take_back(s);
		return;
	}
	sink_flush(s);
}

/* Takes status; about_state: what a later reader should know first. */
static void emit(struct events *ev, struct jx *status, bool about_state)
{
	struct jx *line = jx_new_object();
	auto_free char *text = NULL, *with_newline = NULL;
	struct sink *next;
	char now[32];

	text_now(now, sizeof(now));
	jx_set_string(line, "time", now);
	jx_set(line, "status", status);
	text = jx_dump(line);
	jx_free(line);
	with_newline = xasprintf("%s\n", text);
	/* A log that cannot be written must not end the instance. */
	if (io_write_full(STDOUT_FILENO, with_newline, strlen(with_newline)) < 0)
		errno = 0;
	for (struct sink *s = ev->sinks; s; s = next) {
		next = s->next;
		sink_put(s, with_newline);
	}
	if (about_state) {
		free(ev->newest);
		ev->newest = steal(&with_newline);
	}
}

static void add_ssh_port(struct events *ev, struct jx *status)
{
	if (ev->ssh_port)
		jx_set_int(status, "sshLocalPort", ev->ssh_port);
}

/* The first ones: the guest decides how much there is to say. */
static void add_errors(struct jx *status, const struct jx *errors)
{
	size_t n = jx_count(errors), i, used = 0;
	struct jx *said;

	if (!n)
		return;
	said = jx_new_array();
	for (i = 0; i < n; i++) {
		const char *text = jx_as_string(jx_at(errors, i));

		used += ESCAPED * strlen(text) + sizeof("\"\",");
		if (used > ERRORS_MAX)
			break;
		jx_add_string(said, text);
	}
	if (i < n) {
		auto_free char *rest = xasprintf("and %zu more", n - i);

		jx_add_string(said, rest);
	}
	jx_set(status, "errors", said);
}

void events_started(struct events *ev)
{
	struct jx *status = jx_new_object();

	add_ssh_port(ev, status);
	emit(ev, status, true);
}

/* Whoever waited for readiness has been told. */
static void end_ready(struct events *ev)
{
	struct sink *s = ev->ready;

	if (!s)
		return;
	ev->ready = NULL;
	s->last = true;
	sink_flush(s);
}

void events_running(struct events *ev, const struct jx *errors)
{
	struct jx *status = jx_new_object();

	jx_set_bool(status, "running", true);
	if (jx_count(errors))
		jx_set_bool(status, "degraded", true);
	add_errors(status, errors);
	add_ssh_port(ev, status);
	emit(ev, status, true);
	end_ready(ev);
}

void events_exiting(struct events *ev, const struct jx *errors)
{
	struct jx *status = jx_new_object();

	jx_set_bool(status, "exiting", true);
	add_errors(status, errors);
	add_ssh_port(ev, status);
	emit(ev, status, true);
	end_ready(ev);
}

struct jx *event_port_json(const struct event_port *what)
{
	struct jx *port = jx_new_object();

	jx_set_string(port, "type", what->type);
	jx_set_string(port, "protocol", what->protocol);
	jx_set_string(port, "guestAddr", what->guest);
	jx_set_string(port, "hostAddr", what->host);
	jx_set_string(port, "state", what->state);
	if (what->reverse)
		jx_set_bool(port, "reverse", true);
	jx_set_string(port, "error", what->error);
	if (what->tally)
		tally_json(what->tally, !strcmp(what->protocol, "udp"), port);
	return port;
}

void events_port(struct events *ev, const struct event_port *what)
{
	struct jx *status = jx_new_object();

	add_ssh_port(ev, status);
	jx_set(status, "portForward", event_port_json(what));
	emit(ev, status, false);
}

void events_subscribe(struct events *ev, int fd)
{
	struct sink *s = sink_new(ev, fd);

	if (s->watch)
		watch_set(s->watch, WATCH_READ);
	if (ev->newest)
		sink_put(s, ev->newest);
}

struct events *events_new(struct loop *l, int ready_fd, uint16_t ssh_port)
{
	struct events *ev = xcalloc(1, sizeof(*ev));

	ev->loop = l;
	ev->ssh_port = ssh_port;
	if (ready_fd >= 0)
		ev->ready = sink_new(ev, ready_fd);
	return ev;
}

void events_free(struct events *ev)
{
	while (ev && ev->sinks)
		sink_free(ev->sinks);
	if (ev)
		free(ev->newest);
	free(ev);
}
