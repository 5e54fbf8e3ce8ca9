#include <stdlib.h>
#include <string.h>

#include "lib/cleanup.h"
#include "limactl-c/base/mem.h"
#include "limactl-c/cli/cmd.h"
#include "limactl-c/cli/copy_progress.h"
#include "limactl-c/cli/copy_run.h"
#include "limactl-c/cli/guest_files.h"
#include "limactl-c/cli/haclient.h"

struct copy_opts {
	bool recursive, verbose;
	const char *backend; /* Lima's choice between scp and rsync; there is one way here, and it does what either does */
};

static const struct opt opts[] = {
	{ "backend", 0, OPT_WORD, offsetof(struct copy_opts, backend), "BACKEND",
	  .help = "auto, scp or rsync: for compatibility, all are the same here", .words = "auto|scp|rsync" },
	{ "recursive", 'r', OPT_FLAG, offsetof(struct copy_opts, recursive), .help = "copy folders too" },
	{ "verbose", 'v', OPT_FLAG, offsetof(struct copy_opts, verbose), .help = "name each file" },
	{ 0 },
};

/* INSTANCE:PATH, or a path of the host's: one without a colon, or with a slash before it. */
static int find_place(const char *arg, struct copy_place *p, struct err *e)
{
	size_t n = strcspn(arg, ":/");
	auto_free char *name = NULL;

	*p = (struct copy_place){ .path = arg };
	if (arg[n] != ':')
		return *arg ? 0 : err_set(e, ERR_USAGE, "copy: a path is empty");
	p->path = arg[n + 1] ? arg + n + 1 : ".";
	name = xstrndup(arg, n);
	if (inst_open(name, &p->inst, e) < 0)
		return -1;
	return inst_runs(&p->inst) ? 0 : hac_not_running(&p->inst, e);
}

static bool same_place(const struct copy_place *a, const struct copy_place *b)
{
	return a->inst.name && b->inst.name ? !strcmp(a->inst.name, b->inst.name) : a->inst.name == b->inst.name;
}

static int copy_all(const struct copy_run *c, const struct copy_place *place, size_t sources, struct err *e)
{
	const struct copy_place *target = &place[sources];
	size_t n;

	for (size_t at = 0; at < sources; at += n) {
		for (n = 1; at + n < sources && n < COPY_PATHS_MAX && same_place(&place[at], &place[at + n]); n++)
			;
		if (copy_run(c, place + at, n, target, e) < 0)
			return -1;
	}
	return 0;
}

static int check(const struct copy_place *place, size_t sources, struct err *e)
{
	for (size_t i = 0; i < sources; i++)
		if (!place[i].inst.name && !place[sources].inst.name)
			return err_set(e, ERR_USAGE, "copy: %s and %s are both on the host; a path in a guest is INSTANCE:PATH",
				       place[i].path, place[sources].path);
	return 0;
}

static int copy(const struct call *call, struct copy_place *place, size_t sources, struct err *e)
{
	const struct copy_opts *o = call->opts;
	struct copy_progress progress;
	struct file_watch watch = copy_progress_watch(&progress);
	struct copy_run c = { .watch = &watch, .recursive = o->recursive, .folder = sources > 1 };

	for (size_t i = 0; i <= sources; i++)
		if (find_place(call->arg[i], &place[i], e) < 0)
			return -1;
	if (check(place, sources, e) < 0)
		return -1;
	copy_progress_begin(&progress, call->tty != OPT_NO, o->verbose);
	c.total = progress.bar || o->verbose;
	guest_files_catch();
	return copy_progress_end(&progress, copy_all(&c, place, sources, e), e);
}

static int run(const struct call *call, struct err *e)
{
	struct copy_place *place = xcalloc(call->args, sizeof(*place));
	int rc = copy(call, place, call->args - 1, e);

	for (size_t i = 0; i < call->args; i++)
		inst_fini(&place[i].inst);
	free(place);
	guest_files_obey();
	return rc;
}

const struct cmd cmd_copy = {
	.name = "copy",
	.alias = { "cp" },
	.args = "SOURCE... TARGET",
	.summary = "Copy files and folders between host and guests; those in a guest are INSTANCE:PATH",
	.opt = opts,
	.opts_size = sizeof(struct copy_opts),
	.least = 2,
	.most = CMD_ARGS_ANY,
	.run = run,
};
