#include "limactl-c/cli/say.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "lib/buf.h"
#include "lib/clock.h"
#include "lib/io.h"
#include "limactl-c/base/jsonx.h"

enum { LINE_MAX_BYTES = 16384, TIME_SIZE = 40 };

static const struct {
	const char *word, *label;
	int colour;
} levels[] = {
	[SAY_TRACE] = { "trace", "TRAC", 37 },
	[SAY_DEBUG] = { "debug", "DEBU", 37 },
	[SAY_INFO] = { "info", "INFO", 36 },
	[SAY_WARN] = { "warning", "WARN", 33 },
	[SAY_ERROR] = { "error", "ERRO", 31 },
	[SAY_FATAL] = { "fatal", "FATA", 31 },
};

enum { LEVELS = sizeof(levels) / sizeof(*levels) };

static int64_t started;
static enum say_level least = SAY_INFO;
static bool as_json;

void say_start(void)
{
	started = clock_ms();
}

void say_least(const char *word)
{
	/* "warn" is short for the word the lines have. */
	for (size_t i = 0; i < LEVELS; i++)
		if (!strncmp(levels[i].word, word, strlen(word)))
			least = (enum say_level)i;
}

void say_json(bool json)
{
	as_json = json;
}

/* A word needs no quotes; anything else is quoted, with what could upset a line or a terminal escaped. */
static void add_quoted(struct buf *b, const char *s)
{
	const char *plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._/@^+";

	if (*s && !s[strspn(s, plain)]) {
		buf_adds(b, s);
		return;
	}
	buf_adds(b, "\"");
	for (; *s; s++) {
		unsigned char c = (unsigned char)*s;

		if (c == '"' || c == '\\')
			buf_addf(b, "\\%c", c);
		else if (c == '\n')
			buf_adds(b, "\\n");
		else if (c == '\t')
			buf_adds(b, "\\t");
		else if (c < 0x20 || c == 0x7f)
			buf_addf(b, "\\x%02x", c);
		else
			buf_add(b, s, 1);
	}
	buf_adds(b, "\"");
}

/* For a terminal: line breaks stay, other control characters do not reach it. */
static void add_visible(struct buf *b, const char *s)
{
	for (; *s; s++) {
		unsigned char c = (unsigned char)*s;

		if ((c < 0x20 && c != '\n' && c != '\t') || c == 0x7f)
			buf_addf(b, "\\x%02x", c);
		else
			buf_add(b, s, 1);
	}
}

/* Now, as RFC 3339 has it. */
static void print_time(char text[TIME_SIZE])
{
	time_t now = time(NULL);
	struct tm tm;
	size_t n;

	localtime_r(&now, &tm);
	n = strftime(text, TIME_SIZE - 1, "%Y-%m-%dT%H:%M:%S%z", &tm);
	/* It wants a colon in the offset, and Z for none. */
	if (n > 5 && !strcmp(text + n - 5, "+0000"))
		memcpy(text + n - 5, "Z", 2);
	else if (n > 5) {
		memmove(text + n - 1, text + n - 2, 3);
		text[n - 2] = ':';
	}
}

/* Members in the order of their names, as logrus writes them. */
static void add_json(struct buf *b, enum say_level level, const char *msg, const struct finding *f)
{
	char at[TIME_SIZE];
	auto_jx *line = jx_new_object();
	auto_free char *text = NULL;

	print_time(at);
	if (f && f->at.line)
		jx_set_int(line, "column", f->at.column);
	jx_set_string(line, "file", f ? f->at.file : NULL);
	jx_set_string(line, "level", levels[level].word);
	if (f && f->at.line)
		jx_set_int(line, "line", f->at.line);
	jx_set_string(line, "msg", msg);
	jx_set_string(line, "path", f ? f->path : NULL);
	jx_set_string(line, "time", at);
	text = jx_dump(line);
	buf_adds(b, text);
}

static void add_text(struct buf *b, enum say_level level, const char *msg)
{
	char at[TIME_SIZE];

	if (isatty(STDERR_FILENO)) {
		buf_addf(b, "\033[%dm%s\033[0m[%04ld] ", levels[level].colour, levels[level].label,
			 (long)((clock_ms() - started) / 1000));
		add_visible(b, msg);
	} else {
		print_time(at);
		buf_addf(b, "time=\"%s\" level=%s msg=", at, levels[level].word);
		add_quoted(b, msg);
	}
}

static void write_line(enum say_level level, const char *msg, const struct finding *f)
{
	auto_buf b = BUF_INIT(LINE_MAX_BYTES);

	if (level < least)
		return;
	if (as_json)
		add_json(&b, level, msg, f);
	else
		add_text(&b, level, msg);
	buf_adds(&b, "\n");
	/* There is nobody left to tell when standard error is gone. */
	if (b.data && io_write_full(STDERR_FILENO, b.data, b.len) < 0)
		return;
}

void say(enum say_level level, const char *fmt, ...)
{
	char msg[8000];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(msg, sizeof(msg), fmt, ap);
	va_end(ap);
	write_line(level, msg, NULL);
}

void say_finding(const struct finding *f)
{
	auto_free char *line = as_json ? NULL : finding_line(f);

	write_line(f->warning ? SAY_WARN : SAY_ERROR, line ? line : f->text, f);
}
