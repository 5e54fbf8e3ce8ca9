#include "limactl-c/cli/watch.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/cleanup.h"
#include "limactl-c/base/fs.h"
#include "limactl-c/base/mem.h"
#include "limactl-c/cli/haclient.h"
#include "limactl-c/store/paths.h"

enum { ANSWER_MS = 2000 };

/* The time of what was told last stays the latest there was: the host's clock may be set back. */
static void tell_event(struct watched *w, const char *time, const struct jx *event)
{
	if (strcmp(time, w->last) > 0)
		snprintf(w->last, sizeof(w->last), "%s", time);
	w->tell(w->inst.name, event);
}

/* Times are all of one form, in UTC, so the later one is the greater text. line ends with its newline. Whether it was told. */
static bool take_logged(struct watched *w, const char *line, size_t len)
{
	struct err ignored = { 0 };
	auto_jx *event = jx_parse(line, len - 1, "event", &ignored);
	const char *time = jx_string_or(event, "time", NULL);

	if (!time || strcmp(time, w->last) <= 0)
		return false;
	tell_event(w, time, event);
	if (w->logged.len + len > w->logged.max)
		buf_drop_front(&w->logged, w->logged.len / 2);
	buf_add(&w->logged, line, len);
	return true;
}

static int64_t take_lines_of(struct watched *w, FILE *f)
{
	auto_free char *line = NULL;
	size_t room = 0;
	int64_t told = 0;
	ssize_t n;

	while (f && (n = getline(&line, &room, f)) > 0) {
		if (line[n - 1] == '\n')
			told += take_logged(w, line, (size_t)n);
	}
	return told;
}

/* With the part that was moved away when the log became too long. Opened after the other, it is the same file if that happened
 * in between, so that nothing is missed; what is read twice is told once. Returns how many lines were told. */
static int64_t take_log(struct watched *w)
{
	auto_free char *path = path_in(w->inst.dir, PATH_HA_STDOUT), *before = xasprintf("%s.1", path);
	auto_fclose FILE *now = fopen(path, "re"), *then = fopen(before, "re");
	int64_t told;

	buf_drop_front(&w->logged, w->logged.len);
	told = take_lines_of(w, then);
	return told + take_lines_of(w, now);
}

/* One forward as if it had come to be just now. */
static void tell_forward(struct watched *w, const struct jx *v)
{
	auto_jx *event = jx_new_object();
	struct jx *status = jx_new_object(), *forward = jx_copy(v);

	jx_set_string(forward, "type", jx_string_or(v, "state", ""));
	jx_set_string(event, "time", w->last);
	jx_set(status, "portForward", forward);
	jx_set(event, "status", status);
	w->tell(w->inst.name, event);
}

/* What was there before we looked. */
static void tell_forwards(struct watched *w)
{
	struct hac_answer a = HAC_ANSWER_INIT;
	struct err ignored = { 0 };
	auto_jx *o = NULL;
	const struct jx *list;

	w->started = true;
	if (hac_request(w->inst.dir, "GET", "/v1/forwards", NULL, ANSWER_MS, &a, &ignored) == 0)
		o = jx_parse(a.body.data ? a.body.data : "", a.body.len, "forwards", &ignored);
	list = jx_member(o, "forwards");
	for (size_t i = 0; i < jx_count(list); i++)
		tell_forward(w, jx_at(list, i));
	buf_free(&a.body);
}

/* We were too slow for so many lines. Those that are not in the log, or not any more, are made up for by how things stand. */
static void fill_gap(struct watched *w, int64_t dropped, const struct jx *event)
{
	if (take_log(w) >= dropped)
		return;
	w->tell(w->inst.name, event);
	tell_forwards(w);
}

/* A line of the stream is new whatever its time is, but for those that were written after the stream was opened and before
 * the log was read, and for the first, which may be from long ago. line ends with its newline. */
static void take_line(struct watched *w, const char *line, size_t len)
{
	struct err ignored = { 0 };
	auto_jx *event = jx_parse(line, len - 1, "event", &ignored);
	const char *time = jx_string_or(event, "time", NULL);
	bool old = w->first && time && strcmp(time, w->last) <= 0;
	int64_t dropped = jx_int_or(jx_member(event, "status"), "eventsDropped", 0);

	w->first = dropped > 0;
	if (dropped)
		fill_gap(w, dropped, event);
	else if (time && !old && !(w->logged.len && memmem(w->logged.data, w->logged.len, line, len)))
		tell_event(w, time, event);
}

static void take_lines(struct watched *w)
{
	char *end;

	while (w->line.len && (end = memchr(w->line.data, '\n', w->line.len))) {
		size_t len = (size_t)(end - w->line.data) + 1;

		take_line(w, w->line.data, len);
		buf_drop_front(&w->line, len);
	}
}

void watched_look(struct watched *w)
{
	struct err ignored = { 0 };

	follow_show(&w->log);
	if (w->fd >= 0)
		return;
	w->fd = hac_events(w->inst.dir, &w->line, &ignored);
	take_log(w);
	if (w->fd < 0) {
		buf_free(&w->line);
		return;
	}
	w->first = true;
	if (!w->started)
		tell_forwards(w);
	take_lines(w);
}

void watched_read(struct watched *w)
{
	char *to = buf_reserve(&w->line, 4096);
	ssize_t n = to ? read(w->fd, to, 4096) : 0;

	if (n < 0 && errno == EINTR)
		return;
	if (n <= 0) {
		/* It has ended, or let us go: what we did not hear is in the log. */
		close(steal_fd(&w->fd));
		buf_free(&w->line);
		take_log(w);
		return;
	}
	buf_commit(&w->line, (size_t)n);
	take_lines(w);
}

void watched_init(struct watched *w, struct inst *inst, watch_fn *tell, const char *since)
{
	*w = (struct watched){ .inst = *inst, .tell = tell, .fd = -1, .line = BUF_INIT(WATCH_LINE_MAX),
			       .logged = BUF_INIT(WATCH_LOGGED_MAX), .log = FOLLOW_INIT };
	*inst = (struct inst){ 0 };
	snprintf(w->last, sizeof(w->last), "%s", since);
}

void watched_show_log(struct watched *w)
{
	auto_free char *path = path_in(w->inst.dir, PATH_HA_STDERR);

	follow_open(&w->log, path);
}

void watched_fini(struct watched *w)
{
	if (w->fd >= 0)
		close(w->fd);
	buf_free(&w->line);
	buf_free(&w->logged);
	follow_close(&w->log);
	inst_fini(&w->inst);
}
