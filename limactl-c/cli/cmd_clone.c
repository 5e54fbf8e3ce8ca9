/* clone and rename: an instance under another name, besides or instead of its own. */
#include <string.h>

#include "limactl-c/base/fs.h"
#include "limactl-c/cli/autostart.h"
#include "limactl-c/cli/cmd.h"
#include "limactl-c/cli/launch.h"
#include "limactl-c/cli/make.h"
#include "limactl-c/cli/say.h"
#include "limactl-c/store/paths.h"

struct clone_opts {
	struct edit edit;
	struct setup_rules rules;
	bool start;
};

static int check(const struct inst *old, const char *name, struct err *e)
{
	struct err none = { 0 };
	struct inst there;

	if (!strcmp(old->name, name))
		return err_set(e, ERR_USAGE, "the new name must be another one than \"%s\"", name);
	if (inst_check_name(name, e) < 0)
		return -1;
	if (inst_open(name, &there, &none) == 0) {
		err_set(e, ERR_EXISTS, "instance \"%s\" exists already (%s)", name, there.dir);
		inst_fini(&there);
		return -1;
	}
	return 0;
}

static void warn_of_state(const struct inst *old, const char *name)
{
	auto_free char *state = path_in(old->dir, PATH_STATE);

	if (fs_exists(state))
		say_warn("The saved state of \"%s\" is not taken over: \"%s\" boots", old->name, name);
}

static int clone(const struct inst *old, const char *name, const struct clone_opts *o, struct inst *out,
		 struct err *e)
{
	struct err undo = { 0 };

	say_info("Copying the instance \"%s\" to \"%s\"", old->name, name);
	if (inst_clone(old, name, out, e) < 0)
		return -1;
	if (make_ready(out, &o->edit, &o->rules, e) == 0)
		return 0;
	inst_delete(out, &undo);
	inst_fini(out);
	return -1;
}

static int move(const struct inst *old, const char *name, const struct clone_opts *o, struct inst *out, struct err *e)
{
	struct err undo = { 0 };
	struct inst back;

	if (inst_rename(old, name, out, e) < 0)
		return -1;
	if (make_ready(out, &o->edit, &o->rules, e) == 0)
		return 0;
	/* Its plan still fits the name it had. */
	if (inst_rename(out, old->name, &back, &undo) == 0)
		inst_fini(&back);
	inst_fini(out);
	return -1;
}

static int rename_to(const struct inst *old, const char *name, const struct clone_opts *o, struct inst *out,
		     struct err *e)
{
	int starts = autostart_is_enabled(old->name, e);
	struct err undo = { 0 };

	if (starts <= 0)
		return starts < 0 ? -1 : move(old, name, o, out, e);
	/* Whenever we are interrupted, one of the two entries is that of the instance. */
	if (autostart_enable(name, e) < 0)
		return -1;
	if (move(old, name, o, out, e) < 0) {
		autostart_disable(name, &undo);
		return -1;
	}
	if (autostart_disable(old->name, e) >= 0)
		return 0;
	inst_fini(out);
	return -1;
}

static int run(const struct call *call,
	       int (*make)(const struct inst *old, const char *name, const struct clone_opts *o, struct inst *out,
			   struct err *e),
	       struct err *e)
{
	const struct clone_opts *o = call->opts;
	const char *name = call->arg[1];
	struct inst old, new;
	int rc;

	if (inst_open(call->arg[0], &old, e) < 0)
		return -1;
	/* What would not do is found out before gigabytes are copied. */
	rc = check(&old, name, e) < 0 || make_check_edit(&old, &o->edit, &o->rules, e) < 0 ? -1 : 0;
	if (rc == 0) {
		warn_of_state(&old, name);
		rc = make(&old, name, o, &new, e);
	}
	inst_fini(&old);
	if (rc < 0)
		return -1;
	if (o->start)
		rc = launch(&new, 0, false, e);
	else
		say_info("Run `limactl-c start %s` to start the instance.", new.name);
	inst_fini(&new);
	return rc;
}

static int run_clone(const struct call *call, struct err *e)
{
	return run(call, clone, e);
}

static int run_rename(const struct call *call, struct err *e)
{
	return run(call, rename_to, e);
}

static const struct opt opts[] = {
	{ "start", 0, OPT_FLAG, offsetof(struct clone_opts, start), .help = "start the instance afterwards" },
	{ 0 },
};

const struct cmd cmd_clone = {
	.name = "clone",
	.args = "INSTANCE NEW",
	.summary = "Copy a stopped instance, disks and all",
	.opt = opts,
	.shared = SETUP_SHARED(clone_opts),
	.opts_size = sizeof(struct clone_opts),
	.least = 2,
	.most = 2,
	.run = run_clone,
};

const struct cmd cmd_rename = {
	.name = "rename",
	.args = "INSTANCE NEW",
	.summary = "Give a stopped instance another name",
	.opt = opts,
	.shared = SETUP_SHARED(clone_opts),
	.opts_size = sizeof(struct clone_opts),
	.least = 2,
	.most = 2,
	.run = run_rename,
};
