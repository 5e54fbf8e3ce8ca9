/* say.h - lines for people on standard error, as Lima writes them: time="…" level=info msg="…", on a terminal
 * INFO[0012] …, or with --log-format json one JSON object each. Results of commands go to standard output, not
 * through here. */
#ifndef LIMA_CLI_SAY_H
#define LIMA_CLI_SAY_H

#include <stdbool.h>

#include "lib/err.h"
#include "limactl-c/base/finding.h"

enum say_level { SAY_TRACE, SAY_DEBUG, SAY_INFO, SAY_WARN, SAY_ERROR, SAY_FATAL };

void say_start(void); /* notes the time the program started */

/* What is said from now on: nothing below least; as JSON. Words of the levels for --log-level; unknown ones change
 * nothing. */
#define SAY_LEVEL_WORDS "trace|debug|info|warn|error"
void say_least(const char *word);
void say_json(bool json);

void say(enum say_level level, const char *fmt, ...) ERR_FMT(2, 3);
void say_finding(const struct finding *f); /* JSON: file, line, column and path are members */

#define say_debug(...) say(SAY_DEBUG, __VA_ARGS__)
#define say_info(...) say(SAY_INFO, __VA_ARGS__)
#define say_warn(...) say(SAY_WARN, __VA_ARGS__)
#define say_error(...) say(SAY_ERROR, __VA_ARGS__)

#endif
