#include "limactl-c/cli/cmd.h"
#include "limactl-c/cli/lists.h"
#include "limactl-c/cli/make.h"
#include "limactl-c/cli/say.h"

struct create_opts {
	struct edit edit;
	struct setup_rules rules;
	struct lists lists;
	const char *name;
};

static int run(const struct call *call, struct err *e)
{
	const struct create_opts *o = call->opts;
	struct make m = { .name = o->name, .rules = o->rules, .edit = &o->edit };
	bool existed;
	struct inst i;

	if (lists_print(&o->lists))
		return 0;
	if (!call->args)
		return err_set(e, ERR_USAGE, "create: a template is missing, see limactl-c create --list-templates");
	m.locator = call->arg[0];
	if (make_instance(&m, &i, &existed, e) < 0)
		return -1;
	say_info("Run `limactl-c start %s` to start the instance.", i.name);
	inst_fini(&i);
	return 0;
}

static const struct opt opts[] = {
	{ "name", 0, OPT_STRING, offsetof(struct create_opts, name), "NAME", .help = "name of the new instance" },
	LISTS_OPTS(create_opts),
	{ 0 },
};

const struct cmd cmd_create = {
	.name = "create",
	.args = "FILE|template:NAME|URL|-",
	.summary = "Create an instance from a template",
	.opt = opts,
	.shared = SETUP_SHARED(create_opts),
	.opts_size = sizeof(struct create_opts),
	.most = 1,
	.run = run,
};
