#include <string.h>

#include "limactl-c/base/fs.h"
#include "limactl-c/base/text.h"
#include "limactl-c/cli/cmd.h"
#include "limactl-c/cli/haclient.h"
#include "limactl-c/cli/launch.h"
#include "limactl-c/cli/lists.h"
#include "limactl-c/cli/make.h"
#include "limactl-c/cli/say.h"

enum { WAKE_MS = 600 * 1000 }; /* one that cannot go on from its memory boots */

struct start_opts {
	struct edit edit;
	struct setup_rules rules;
	struct lists lists;
	const char *name;
	unsigned timeout;
	bool foreground, progress;
};

/* A template rather than the name of an instance. */
static bool is_template(const char *arg)
{
	return !strcmp(arg, "-") || strpbrk(arg, "/:") || text_ends_with(arg, ".yaml") || text_ends_with(arg, ".yml");
}

static int find_instance(const char *arg, const struct start_opts *o, struct inst *i, struct err *e)
{
	if (o->name && strcmp(o->name, arg))
		return err_set(e, ERR_USAGE, "--name is for a new instance; \"%s\" is the name of one", arg);
	if (inst_open(arg, i, e) == 0)
		return 0;
	if (e->kind == ERR_NOTFOUND && fs_exists(arg))
		return err_set(e, ERR_NOTFOUND, "instance \"%s\" does not exist; for the file of that name say ./%s", arg,
			       arg);
	return -1;
}

/* One that sleeps goes on. One that starts or stops is not asleep. */
static void wake(const struct inst *i)
{
	struct hac_answer a = HAC_ANSWER_INIT;
	struct err refused = { 0 };

	hac_request(i->dir, "POST", "/v1/wake", NULL, WAKE_MS, &a, &refused);
	buf_free(&a.body);
}

/* It runs already: nothing is done but to wake it up, so nothing may have been asked for. */
static int is_running(const struct inst *i, bool answers, bool change, struct err *e)
{
	if (!answers)
		return err_set(e, ERR_STATE,
			       "the host agent of instance \"%s\" does not answer: `limactl-c stop -f %s` ends it", i->name,
			       i->name);
	if (change)
		return err_set(e, ERR_STATE, "instance \"%s\" is running and cannot be changed: use `limactl-c restart %s` with "
			       "these options", i->name, i->name);
	wake(i);
	say_info("The instance \"%s\" is running already. Run `limactl-c shell %s` to open the shell.", i->name, i->name);
	return 0;
}

/* edit: what is still to be changed; NULL: nothing. fresh: its plan was just made. */
static int start(const struct inst *i, const struct edit *edit, bool fresh, const struct start_opts *o,
		 struct err *e)
{
	bool answers;

	switch (launch_status(i, &answers)) {
	case INST_RUNNING:
		return is_running(i, answers, edit && edit_given(edit), e);
	case INST_ORPHAN:
		if (edit && edit_given(edit))
			return is_running(i, true, true, e);
		say_info("The machine of \"%s\" runs without its host agent; taking it over", i->name);
		break;
	case INST_STOPPED:
	case INST_BROKEN:
		if (!fresh && make_ready(i, edit, &o->rules, e) < 0)
			return err_wrap(e, "instance \"%s\"", i->name);
		break;
	}
	return launch(i, o->timeout, o->foreground, e);
}

/* Told nothing: the instance "default", made from the template of that name when it is not there. */
static const char *what_by_default(const struct start_opts *o)
{
	struct inst i;
	struct err e;

	if (!o->name && inst_open("default", &i, &e) == 0) {
		inst_fini(&i);
		return "default";
	}
	return o->name || e.kind == ERR_NOTFOUND ? "template:default" : "default";
}

static int run(const struct call *call, struct err *e)
{
	const struct start_opts *o = call->opts;
	const char *arg = call->args ? call->arg[0] : what_by_default(o);
	const struct make m = { arg, o->name, o->rules, &o->edit, .existing_ok = true };
	bool existed = true, made = is_template(arg);
	struct inst i;
	int rc;

	if (lists_print(&o->lists))
		return 0;
	if (made ? make_instance(&m, &i, &existed, e) < 0 : find_instance(arg, o, &i, e) < 0)
		return -1;
	rc = start(&i, made ? NULL : &o->edit, !existed, o, e);
	inst_fini(&i);
	return rc;
}

static const struct opt opts[] = {
	{ "name", 0, OPT_STRING, offsetof(struct start_opts, name), "NAME", .help = "name of the new instance" },
	{ "timeout", 0, OPT_DURATION, offsetof(struct start_opts, timeout), "TIME",
	  .help = "to wait for READY (default 10m)" },
	{ "foreground", 0, OPT_FLAG, offsetof(struct start_opts, foreground), .help = "stay until the instance stops" },
	{ "progress", 0, OPT_FLAG, offsetof(struct start_opts, progress),
	  .help = "show how the start gets on, which is always done" },
	LISTS_OPTS(start_opts),
	{ 0 },
};

const struct cmd cmd_start = {
	.name = "start",
	.args = "[FILE|template:NAME|URL|INSTANCE|-]",
	.summary = "Start an instance, made from a template first when it is not there",
	.opt = opts,
	.shared = SETUP_SHARED(start_opts),
	.opts_size = sizeof(struct start_opts),
	.most = 1,
	.run = run,
};
