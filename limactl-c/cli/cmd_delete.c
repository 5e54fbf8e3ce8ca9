#include "limactl-c/cli/autostart.h"
#include "limactl-c/cli/cmd.h"
#include "limactl-c/cli/launch.h"
#include "limactl-c/cli/say.h"

struct delete_opts {
	bool force;
};

enum { FORCE_TRIES = 5 };

/* There is nothing left for it to start. */
static void forget_autostart(const char *name)
{
	struct err e = { 0 };

	if (autostart_disable(name, &e) < 0)
		say_warn("The autostart entry of \"%s\" is still there: %s", name, e.msg);
}

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
	/* Before anything is stopped. */
	if (inst_check_unprotected(&i, e) < 0) {
		inst_fini(&i);
		return -1;
	}
	/* A start under way may get ahead after the stop; deleting takes the locks, so it notices. */
	for (int n = 0; n < FORCE_TRIES; n++) {
		rc = force && inst_runs(&i) ? launch_stop(&i, true, e) : 0;
		if (rc == 0)
			rc = inst_delete(&i, e);
		if (rc == 0 || !force || !inst_runs(&i))
			break;
	}
	if (rc == 0)
		forget_autostart(i.name);
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
	{ "force", 'f', OPT_FLAG, offsetof(struct delete_opts, force), .help = "stop it at once first when it is running" },
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
