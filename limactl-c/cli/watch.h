/* watch.h - the events of one instance, whether it runs or not.
 *
 * Of a host agent that lives its event stream tells; what was said before the stream was opened is in its log, where the
 * time of what was told last says where to go on. What both carry is told once.
 */
#ifndef LIMA_CLI_WATCH_H
#define LIMA_CLI_WATCH_H

#include <stdbool.h>

#include "lib/buf.h"
#include "limactl-c/base/jsonx.h"
#include "limactl-c/cli/follow.h"
#include "limactl-c/store/inst.h"

enum { WATCH_LINE_MAX = 1 << 20, WATCH_TIME_MAX = 64, WATCH_LOGGED_MAX = 128 * 1024 };

/* event is {"time":…,"status":{…}}. */
typedef void watch_fn(const char *instance, const struct jx *event);

struct watched {
	struct inst inst;
	watch_fn *tell;
	int fd;                      /* the stream; -1: nobody to listen to */
	struct buf line;             /* what has come of the next line */
	bool first;                  /* the stream's next line is its first */
	struct buf logged;           /* what was told of the log when it was last read, the end of it: the stream may carry that too */
	char last[WATCH_TIME_MAX];   /* latest time told; nothing up to it is told from the log */
	bool started;                /* the present forwards were told */
	struct follow log;           /* the host agent's, when it is shown */
};

/* inst is taken. since: events after that time are told. */
void watched_init(struct watched *w, struct inst *inst, watch_fn *tell, const char *since);
void watched_fini(struct watched *w);
void watched_show_log(struct watched *w); /* from now on, said with the other messages */

void watched_look(struct watched *w); /* opens the stream if there is one by now */
void watched_read(struct watched *w); /* its descriptor is readable */

#endif
