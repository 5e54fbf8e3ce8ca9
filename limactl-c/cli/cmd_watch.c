#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/cleanup.h"
#include "limactl-c/base/mem.h"
#include "limactl-c/base/text.h"
#include "limactl-c/cli/cmd.h"
#include "limactl-c/cli/say.h"
#include "limactl-c/cli/watch.h"
#include "limactl-c/cli/watch_text.h"
#include "limactl-c/store/folder.h"

/* How often to look for instances that have come or were started: of those there is nothing to wait on. One that runs
 * is waited for without looking. */
enum { LOOK_MS = 1000 };

struct watch_opts {
	bool json, history, verbose;
};

struct watching {
	const struct watch_opts *o;
	char since[WATCH_TIME_MAX];
	struct watched **one;
	size_t count;
};

static void print_json(const char *instance, const struct jx *event)
{
	auto_jx *o = jx_new_object();
	auto_free char *text = NULL;

	jx_set_string(o, "instance", instance);
	jx_set(o, "event", jx_copy(event));
	text = jx_dump(o);
	puts(text);
}

static int add(struct watching *w, const char *name, struct err *e)
{
	struct watched *one;
	struct inst i;

	for (size_t k = 0; k < w->count; k++) {
		if (!strcmp(w->one[k]->inst.name, name))
			return 0;
	}
	if (inst_open(name, &i, e) < 0)
		return -1;
	one = xmalloc(sizeof(*one));
	watched_init(one, &i, w->o->json ? print_json : watch_print, w->since);
	if (w->o->verbose)
		watched_show_log(one);
	w->one = xrealloc_array(w->one, w->count + 1, sizeof(*w->one));
	w->one[w->count++] = one;
	return 0;
}

static void drop(struct watching *w, size_t i)
{
	watched_fini(w->one[i]);
	free(w->one[i]);
	w->one[i] = w->one[--w->count];
}

/* All there are: the new ones, and no more those that were deleted. */
static int add_all(struct watching *w, struct err *e)
{
	struct err gone = { 0 };
	char **names;
	size_t count;

	for (size_t i = w->count; i-- > 0;) {
		struct inst still;

		if (inst_open(w->one[i]->inst.name, &still, &gone) == 0)
			inst_fini(&still);
		else if (w->one[i]->fd < 0)
			drop(w, i);
	}
	if (inst_list(&names, &count, e) < 0)
		return -1;
	/* One that is deleted meanwhile is not there. */
	for (size_t i = 0; i < count; i++)
		add(w, names[i], &gone);
	folder_list_free(names, count);
	return 0;
}

static int wait_and_read(struct watching *w, struct err *e)
{
	auto_free struct pollfd *p = xcalloc(w->count + 1, sizeof(*p));

	for (size_t i = 0; i < w->count; i++)
		p[i] = (struct pollfd){ .fd = w->one[i]->fd, .events = POLLIN };
	if (poll(p, (nfds_t)w->count, w->o->verbose ? FOLLOW_MS : LOOK_MS) < 0 && errno != EINTR)
		return err_errno(e, "poll");
	for (size_t i = 0; i < w->count; i++) {
		if (p[i].revents)
			watched_read(w->one[i]);
	}
	return 0;
}

static int watch_all(struct watching *w, const struct call *call, struct err *e)
{
	for (size_t i = 0; i < call->args; i++) {
		if (add(w, call->arg[i], e) < 0)
			return -1;
	}
	say_info("Watching for events...");
	for (;;) {
		if (!call->args && add_all(w, e) < 0)
			return -1;
		for (size_t i = 0; i < w->count; i++)
			watched_look(w->one[i]);
		if (fflush(stdout) == EOF)
			return err_errno(e, "standard output");
		if (wait_and_read(w, e) < 0)
			return -1;
	}
}

static int run(const struct call *call, struct err *e)
{
	struct watching w = { .o = call->opts };
	int rc;

	if (!w.o->history)
		text_now(w.since, sizeof(w.since));
	rc = watch_all(&w, call, e);
	while (w.count)
		drop(&w, w.count - 1);
	free(w.one);
	return rc;
}

static const struct opt opts[] = {
	{ "json", 0, OPT_FLAG, offsetof(struct watch_opts, json), .help = "one JSON object a line: {\"instance\":…,\"event\":{…}}" },
	{ "history", 0, OPT_FLAG, offsetof(struct watch_opts, history), .help = "also what was before" },
	{ "verbose", 0, OPT_FLAG, offsetof(struct watch_opts, verbose), .help = "the host agents' logs too" },
	{ 0 },
};

const struct cmd cmd_watch = {
	.name = "watch",
	.args = "[INSTANCE...]",
	.summary = "Show what happens to instances and their forwards, until interrupted",
	.opt = opts,
	.opts_size = sizeof(struct watch_opts),
	.most = CMD_ARGS_ANY,
	.run = run,
};
