#include "lib/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static struct {
	const char *name;
	int fd;
	enum log_format format;
	enum log_level least;
} log_state = { "limactl-c", STDERR_FILENO, LOG_TEXT, LOG_INFO_ };

static const char *const level_names[] = { "debug", "info", "warning", "error" };

void log_init(const char *name, int fd, enum log_format format, enum log_level least)
{
	log_state.name = name;
	log_state.fd = fd;
	log_state.format = format;
	log_state.least = least;
}

/* Copies msg with control characters, quotes and backslashes as JSON escapes; cuts what does not fit. */
static void escape(char *dst, size_t size, const char *msg)
{
	size_t at = 0;

	for (; *msg && at + 7 < size; msg++) {
		unsigned char c = (unsigned char)*msg;

		if (c < 0x20 || c == 0x7f)
			at += (size_t)snprintf(dst + at, size - at, "\\u%04x", c);
		else if (log_state.format == LOG_JSON && (c == '"' || c == '\\')) {
			dst[at++] = '\\';
			dst[at++] = (char)c;
		} else
			dst[at++] = (char)c;
	}
	dst[at] = '\0';
}

void log_write(enum log_level level, const char *fmt, ...)
{
	char msg[2000], clean[3000], line[3200], when[40];
	struct tm tm;
	time_t now;
	va_list ap;
	int n;

	if (level < log_state.least)
		return;
	va_start(ap, fmt);
	vsnprintf(msg, sizeof(msg), fmt, ap);
	va_end(ap);
	escape(clean, sizeof(clean), msg);
	if (log_state.format == LOG_JSON) {
		now = time(NULL);
		gmtime_r(&now, &tm);
		strftime(when, sizeof(when), "%Y-%m-%dT%H:%M:%SZ", &tm);
		n = snprintf(line, sizeof(line), "{\"level\":\"%s\",\"msg\":\"%s\",\"time\":\"%s\"}\n",
			     level_names[level], clean, when);
	} else {
		n = snprintf(line, sizeof(line), "%s: %s%s\n", log_state.name,
			     level >= LOG_WARN_ ? (level == LOG_WARN_ ? "warning: " : "error: ") : "", clean);
	}
	/* A log that cannot be written has nobody left to tell. */
	if (write(log_state.fd, line, (size_t)n) < 0)
		return;
}
