/* log.h - levelled diagnostics of the resident programs.
 *
 * A line goes to one descriptor (standard error unless set) in one write:
 *   {"level":"info","msg":"…","time":"2026-11-30T11:00:00Z"}   log_format json (host agent)
 *   agent: …                                                    log_format text (guest agent)
 * Control characters in the message are escaped, since messages quote what
 * others sent. The command line does not log: it prints errors in main().
 */
#ifndef LIMA_LOG_H
#define LIMA_LOG_H

#include "lib/err.h"

enum log_level { LOG_DEBUG_, LOG_INFO_, LOG_WARN_, LOG_ERROR_ };
enum log_format { LOG_TEXT, LOG_JSON };

/* name prefixes text lines and is not copied; fd is borrowed. */
void log_init(const char *name, int fd, enum log_format format, enum log_level least);
void log_write(enum log_level level, const char *fmt, ...) ERR_FMT(2, 3);

#define log_debug(...) log_write(LOG_DEBUG_, __VA_ARGS__)
#define log_info(...) log_write(LOG_INFO_, __VA_ARGS__)
#define log_warn(...) log_write(LOG_WARN_, __VA_ARGS__)
#define log_error(...) log_write(LOG_ERROR_, __VA_ARGS__)

#endif
