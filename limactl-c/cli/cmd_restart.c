#include "limactl-c/cli/cmd.h"
#include "limactl-c/cli/launch.h"
#include "limactl-c/cli/make.h"

struct restart_opts {
	bool force;
};

static int run(const struct call *call, struct err *e)
{
	const struct restart_opts *o = call->opts;
	struct inst i;
	int rc;

	if (inst_open(call->args ? call->arg[0] : "default", &i, e) < 0)
		return -1;
	/* What cannot start again is not stopped. */
	rc = make_check(&i, e);
	if (rc == 0)
		rc = launch_stop(&i, o->force, e);
	if (rc == 0)
		rc = make_ready(&i, NULL, e);
	if (rc == 0)
		rc = launch(&i, 0, false, e);
	inst_fini(&i);
	return rc;
}

static const struct opt opts[] = {
	{ "force", 'f', OPT_FLAG, offsetof(struct restart_opts, force), .help = "end the machine at once first" },
	{ 0 },
};

const struct cmd cmd_restart = {
	.name = "restart",
	.args = "[INSTANCE]",
	.summary = "Stop an instance and start it again",
	.opt = opts,
	.opts_size = sizeof(struct restart_opts),
	.most = 1,
	.run = run,
};
