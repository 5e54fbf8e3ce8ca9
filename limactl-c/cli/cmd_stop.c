#include "limactl-c/cli/cmd.h"
#include "limactl-c/cli/launch.h"

struct stop_opts {
	bool force, suspend;
};

static int run(const struct call *call, struct err *e)
{
	const struct stop_opts *o = call->opts;
	struct inst i;
	int rc;

	if (o->force && o->suspend)
		return err_set(e, ERR_USAGE, "--force and --suspend exclude each other");
	if (inst_open(call->args ? call->arg[0] : "default", &i, e) < 0)
		return -1;
	rc = o->suspend ? launch_suspend(&i, e) : launch_stop(&i, o->force, e);
	inst_fini(&i);
	return rc;
}

static const struct opt opts[] = {
	{ "force", 'f', OPT_FLAG, offsetof(struct stop_opts, force), .help = "end the machine at once" },
	{ "suspend", 0, OPT_FLAG, offsetof(struct stop_opts, suspend), .help = "keep its memory: the next start goes on where it was" },
	{ 0 },
};

const struct cmd cmd_stop = {
	.name = "stop",
	.args = "[INSTANCE]",
	.summary = "Stop an instance",
	.opt = opts,
	.opts_size = sizeof(struct stop_opts),
	.most = 1,
	.run = run,
};
