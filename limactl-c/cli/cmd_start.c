#include <string.h>

#include "limactl-c/base/fs.h"
#include "limactl-c/cli/cmd.h"
#include "limactl-c/cli/launch.h"
#include "limactl-c/cli/make.h"
#include "limactl-c/cli/say.h"

struct start_opts {
	struct edit edit;
	unsigned timeout;
	bool foreground;
};

static bool ends_with(const char *s, const char *end)
{
	size_t n = strlen(s), k = strlen(end);

	return n > k && !strcmp(s + n - k, end);
}

/* A template rather than the name of an instance. */
static bool is_template(const char *arg)
{
	return !strcmp(arg, "-") || strpbrk(arg, "/:") || ends_with(arg, ".yaml") || ends_with(arg, ".yml");
}

static int find_instance(const char *arg, const struct start_opts *o, struct inst *i, struct err *e)
{
	if (o->edit.name && strcmp(o->edit.name, arg))
		return err_set(e, ERR_USAGE, "--name is for a new instance; \"%s\" is the name of one", arg);
	if (inst_open(arg, i, e) == 0)
		return 0;
	if (e->kind == ERR_NOTFOUND && fs_exists(arg))
		return err_set(e, ERR_NOTFOUND, "instance \"%s\" does not exist; for the file of that name say ./%s", arg,
			       arg);
	return -1;
}

static int start(const struct inst *i, bool fresh, const struct start_opts *o, struct err *e)
{
	bool answers;

	switch (launch_status(i, &answers)) {
	case INST_RUNNING:
		if (!answers)
			return err_set(e, ERR_STATE, "the host agent of instance \"%s\" does not answer: `limactl-c stop -f "
				       "%s` ends it", i->name, i->name);
		say_info("The instance \"%s\" is running already. Run `limactl-c shell %s` to open the shell.", i->name,
			 i->name);
		if (!fresh && (o->edit.cpus || o->edit.memory || o->edit.disk))
			say_warn("Options that change an instance have no effect while it runs");
		return 0;
	case INST_ORPHAN:
		say_info("The machine of \"%s\" runs without its host agent; taking it over", i->name);
		break;
	case INST_STOPPED:
	case INST_BROKEN:
		if (!fresh && make_ready(i, &o->edit, e) < 0)
			return err_wrap(e, "instance \"%s\"", i->name);
		break;
	}
	return launch(i, o->timeout, o->foreground, e);
}

static int run(const struct call *call, struct err *e)
{
	const struct start_opts *o = call->opts;
	const char *arg = call->args ? call->arg[0] : "default";
	bool existed = true;
	struct inst i;
	int rc;

	if (is_template(arg)) {
		if (make_instance(arg, &o->edit, true, &i, &existed, e) < 0)
			return -1;
	} else if (find_instance(arg, o, &i, e) < 0) {
		return -1;
	}
	rc = start(&i, !existed, o, e);
	inst_fini(&i);
	return rc;
}

static const struct opt opts[] = {
	EDIT_OPTS(start_opts),
	{ "timeout", 0, OPT_DURATION, offsetof(struct start_opts, timeout), "TIME", .help = "to wait for READY (default 10m)" },
	{ "foreground", 0, OPT_FLAG, offsetof(struct start_opts, foreground), .help = "stay until the instance stops" },
	{ 0 },
};

const struct cmd cmd_start = {
	.name = "start",
	.args = "[FILE|template:NAME|INSTANCE|-]",
	.summary = "Start an instance, made from a template first when it is not there",
	.opt = opts,
	.opts_size = sizeof(struct start_opts),
	.most = 1,
	.run = run,
};
