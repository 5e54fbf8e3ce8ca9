#include "limactl-c/cli/cmd.h"
#include "limactl-c/cli/make.h"
#include "limactl-c/cli/say.h"

struct create_opts {
	struct edit edit;
};

static int run(const struct call *call, struct err *e)
{
	const struct create_opts *o = call->opts;
	struct inst i;
	bool existed;

	if (make_instance(call->arg[0], &o->edit, false, &i, &existed, e) < 0)
		return -1;
	say_info("Run `limactl-c start %s` to start the instance.", i.name);
	inst_fini(&i);
	return 0;
}

static const struct opt opts[] = {
	EDIT_OPTS(create_opts),
	{ 0 },
};

const struct cmd cmd_create = {
	.name = "create",
	.args = "FILE|template:NAME|-",
	.summary = "Create an instance from a template",
	.opt = opts,
	.opts_size = sizeof(struct create_opts),
	.least = 1,
	.most = 1,
	.run = run,
};
