#include "limactl-c/cli/watch_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "lib/buf.h"
#include "lib/cleanup.h"

enum { SECONDS = 19, LINE_MAX_ = 4096 }; /* SECONDS: of "2026-11-30T08:59:57.9…" */

static void line(const char *instance, const struct jx *event, const char *what, const char *rest)
{
	const char *time = jx_string_or(event, "time", "");
	char text[SECONDS + 1], *t;

	snprintf(text, sizeof(text), "%s", time);
	t = strchr(text, 'T');
	if (t)
		*t = ' ';
	printf("%s %s | %s%s\n", text, instance, what, rest);
}

static void add_counts(struct buf *b, const struct jx *p)
{
	if (!jx_member(p, "connectionsTotal"))
		return;
	buf_addf(b, " (connections: %" PRId64 " now, %" PRId64 " in all; bytes: %" PRId64 " to the guest, %" PRId64 " to the host)",
		 jx_int_or(p, "connections", 0), jx_int_or(p, "connectionsTotal", 0), jx_int_or(p, "bytesToGuest", 0),
		 jx_int_or(p, "bytesToHost", 0));
}

/* As Lima says it, and what went through it when that is told. */
static void print_forward(const char *instance, const struct jx *event, const struct jx *p)
{
	static const struct {
		const char *type, *what;
		bool to; /* the host's end is named */
	} rows[] = {
		{ "forwarding", "forwarding ", true },
		{ "not-forwarding", "not forwarding ", false },
		{ "stopping", "stopping forwarding ", false },
		{ "failed", "failed to forward ", false },
	};
	const char *type = jx_string_or(p, "type", ""), *error = jx_string_or(p, "error", NULL);
	auto_buf b = BUF_INIT(LINE_MAX_);

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		if (strcmp(rows[i].type, type))
			continue;
		buf_addf(&b, "%s %s", jx_string_or(p, "protocol", ""), jx_string_or(p, "guestAddr", ""));
		if (rows[i].to)
			buf_addf(&b, " to %s", jx_string_or(p, "hostAddr", ""));
		if (error)
			buf_addf(&b, ": %s", error);
		add_counts(&b, p);
		line(instance, event, rows[i].what, b.data ? b.data : "");
	}
}

void watch_print(const char *instance, const struct jx *event)
{
	const struct jx *status = jx_member(event, "status"), *errors = jx_member(status, "errors");
	const struct jx *forward = jx_member(status, "portForward");
	int64_t ssh = jx_int_or(status, "sshLocalPort", 0), dropped = jx_int_or(status, "eventsDropped", 0);
	char number[24];

	if (forward) {
		print_forward(instance, event, forward);
		return;
	}
	if (jx_bool_or(status, "running", false))
		line(instance, event, "running", jx_bool_or(status, "degraded", false) ? " (degraded)" : "");
	if (jx_bool_or(status, "exiting", false))
		line(instance, event, "exiting", "");
	snprintf(number, sizeof(number), "%" PRId64, ssh);
	if (ssh)
		line(instance, event, "ssh available on port ", number);
	snprintf(number, sizeof(number), "%" PRId64, dropped);
	if (dropped)
		line(instance, event, "events that were missed, the present forwards follow: ", number);
	for (size_t i = 0; i < jx_count(errors); i++)
		line(instance, event, "error: ", jx_as_string(jx_at(errors, i)) ? jx_as_string(jx_at(errors, i)) : "");
}
