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

enum { LINE_MAX_BYTES = 16384 };

static const struct {
	const char *word, *label;
	int colour;
} levels[] = {
	[SAY_INFO] = { "info", "INFO", 36 },
	[SAY_WARN] = { "warning", "WARN", 33 },
	[SAY_ERROR] = { "error", "ERRO", 31 },
	[SAY_FATAL] = { "fatal", "FATA", 31 },
};

static int64_t started;

void say_start(void)
{
	started = clock_ms();
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

static void add_time(struct buf *b)
{
	time_t now = time(NULL);
	char text[40];
	struct tm tm;
	size_t n;

	localtime_r(&now, &tm);
	n = strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S%z", &tm);
	/* RFC 3339 wants a colon in the offset, and Z for none. */
	if (n > 5 && !strcmp(text + n - 5, "+0000"))
		memcpy(text + n - 5, "Z", 2);
	else if (n > 5) {
		memmove(text + n - 1, text + n - 2, 3);
		text[n - 2] = ':';
	}
	buf_addf(b, "time=\"%s\"", text);
}

void say(enum say_level level, const char *fmt, ...)
{
	char msg[8000];
	auto_buf b = BUF_INIT(LINE_MAX_BYTES);
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(msg, sizeof(msg), fmt, ap);
	va_end(ap);
	if (isatty(STDERR_FILENO)) {
		buf_addf(&b, "\033[%dm%s\033[0m[%04ld] ", levels[level].colour, levels[level].label,
			 (long)((clock_ms() - started) / 1000));
		add_visible(&b, msg);
	} else {
		add_time(&b);
		buf_addf(&b, " level=%s msg=", levels[level].word);
		add_quoted(&b, msg);
	}
	buf_adds(&b, "\n");
	/* There is nobody left to tell when standard error is gone. */
	if (b.data && io_write_full(STDERR_FILENO, b.data, b.len) < 0)
		return;
}
