/* say.h - lines for people on standard error, as Lima writes them: time="…" level=info msg="…", on a terminal
 * INFO[0012] …. Results of commands go to standard output, not through here. */
#ifndef LIMA_CLI_SAY_H
#define LIMA_CLI_SAY_H

#include "lib/err.h"

enum say_level { SAY_INFO, SAY_WARN, SAY_ERROR, SAY_FATAL };

void say_start(void); /* notes the time the program started */
void say(enum say_level level, const char *fmt, ...) ERR_FMT(2, 3);

#define say_info(...) say(SAY_INFO, __VA_ARGS__)
#define say_warn(...) say(SAY_WARN, __VA_ARGS__)
#define say_error(...) say(SAY_ERROR, __VA_ARGS__)

#endif
