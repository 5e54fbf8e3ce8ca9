#include "limactl-c/cli/cmd.h"
#include "limactl-c/cli/launch.h"
#include "limactl-c/cli/make.h"

struct restart_opts {
	struct edit edit;
	struct setup_rules rules;
	bool force, progress;
};

static int run(const struct call *call, struct err *e)
{
	const struct restart_opts *o = call->opts;
	struct inst i;
	int rc;

	if (inst_open(call->args ? call->arg[0] : "default", &i, e) < 0)
		return -1;
	/* What cannot start again is not stopped. */
	rc = make_check_edit(&i, &o->edit, &o->rules, e);
	if (rc == 0)
		rc = launch_stop(&i, o->force, e);
	if (rc == 0)
		rc = make_ready(&i, &o->edit, &o->rules, e);
	if (rc == 0)
		rc = launch(&i, 0, false, e);
	inst_fini(&i);
	return rc;
}

static const struct opt opts[] = {
	{ "force", 'f', OPT_FLAG, offsetof(struct restart_opts, force), .help = "end the machine at once first" },
	{ "progress", 0, OPT_FLAG, offsetof(struct restart_opts, progress),
	  .help = "show how the start gets on, which is always done" },
	{ 0 },
};

const struct cmd cmd_restart = {
	.name = "restart",
	.args = "[INSTANCE]",
	.summary = "Stop an instance and start it again",
	.opt = opts,
	.shared = SETUP_SHARED(restart_opts),
	.opts_size = sizeof(struct restart_opts),
	.most = 1,
	.run = run,
};
