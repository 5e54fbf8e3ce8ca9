/* factory-reset: an instance as it was when it was made, without its disk and all it had on it. */
#include <dirent.h>
#include <fnmatch.h>

#include "lib/cleanup.h"
#include "limactl-c/base/fs.h"
#include "limactl-c/base/mem.h"
#include "limactl-c/cli/cmd.h"
#include "limactl-c/cli/launch.h"
#include "limactl-c/cli/say.h"
#include "limactl-c/store/inst.h"

static bool stays(const char *name)
{
	static const char *const kept[] = { ".", "..", "lima-version", "protected", "vz-identifier", "*.yaml", "*.yml", "*.lock" };

	for (size_t i = 0; i < sizeof(kept) / sizeof(kept[0]); i++)
		if (fnmatch(kept[i], name, 0) == 0)
			return true;
	return false;
}

static int empty(const char *dir, struct err *e)
{
	auto_closedir DIR *d = opendir(dir);
	struct dirent *de;

	if (!d)
		return err_errno(e, "open %s", dir);
	while ((de = readdir(d))) {
		auto_free char *path = xasprintf("%s/%s", dir, de->d_name);

		if (stays(de->d_name))
			continue;
		say_info("Removing \"%s\"", path);
		if (fs_remove_tree(path, e) < 0)
			return -1;
	}
	return 0;
}

static int reset(const struct inst *i, struct err *e)
{
	auto_hold hold = INST_HOLD_INIT;

	if (inst_is_protected(i))
		return err_set(e, ERR_STATE, "instance \"%s\" is protected from a factory reset: `limactl-c unprotect %s` lifts that",
			       i->name, i->name);
	if (inst_runs(i) && launch_stop(i, true, e) < 0)
		return -1;
	if (inst_hold(i, &hold, e) < 0 || empty(i->dir, e) < 0)
		return -1;
	say_info("Instance \"%s\" has been factory reset", i->name);
	return 0;
}

static int run(const struct call *call, struct err *e)
{
	const char *name = call->args ? call->arg[0] : "default";
	struct inst i;
	int rc;

	if (inst_open(name, &i, e) < 0) {
		if (e->kind != ERR_NOTFOUND)
			return -1;
		*e = (struct err){ 0 };
		say_info("Instance \"%s\" not found", name);
		return 0;
	}
	rc = reset(&i, e);
	inst_fini(&i);
	return rc;
}

const struct cmd cmd_factory_reset = {
	.name = "factory-reset",
	.args = "[INSTANCE]",
	.summary = "Make an instance what it was when it was made: its disk is lost",
	.most = 1,
	.run = run,
};
