#include "limactl-c/cli/cmd.h"
#include "limactl-c/cli/launch.h"
#include "limactl-c/cli/say.h"

struct delete_opts {
	bool force;
};

static int delete_one(const char *name, bool force, struct err *e)
{
	struct inst i;
	int rc = 0;

	if (inst_open(name, &i, e) < 0) {
		if (e->kind != ERR_NOTFOUND)
			return -1;
		say_warn("Ignoring the instance \"%s\": it does not exist", name);
		*e = (struct err){ 0 };
		return 0;
	}
	if (force && (inst_status(&i) == INST_RUNNING || inst_status(&i) == INST_ORPHAN))
		rc = launch_stop(&i, true, e);
	if (rc == 0)
		rc = inst_delete(&i, e);
	if (rc == 0)
		say_info("Deleted \"%s\" (%s)", i.name, i.dir);
	inst_fini(&i);
	return rc;
}

static int run(const struct call *call, struct err *e)
{
	const struct delete_opts *o = call->opts;

	for (size_t n = 0; n < call->args; n++)
		if (delete_one(call->arg[n], o->force, e) < 0)
			return -1;
	return 0;
}

static const struct opt opts[] = {
	{ "force", 'f', OPT_FLAG, offsetof(struct delete_opts, force), NULL, "stop it at once first when it is running" },
	{ 0 },
};

const struct cmd cmd_delete = {
	.name = "delete",
	.alias = { "remove", "rm" },
	.args = "INSTANCE...",
	.summary = "Delete instances",
	.opt = opts,
	.opts_size = sizeof(struct delete_opts),
	.least = 1,
	.most = CMD_ARGS_ANY,
	.run = run,
};
