/* protect and unprotect: whether delete and factory-reset refuse an instance. */
#include <errno.h>
#include <unistd.h>

#include "lib/buf.h"
#include "lib/cleanup.h"
#include "limactl-c/base/fs.h"
#include "limactl-c/cli/cmd.h"
#include "limactl-c/cli/say.h"
#include "limactl-c/store/inst.h"
#include "limactl-c/store/paths.h"

enum { ERRORS_MAX = 900 };

static int protect_one(const struct inst *i, const char *file, struct err *e)
{
	if (fs_exists(file)) {
		say_warn("Instance \"%s\" is already protected. Skipping.", i->name);
		return 0;
	}
	if (fs_write_atomic(file, "", 0, 0400, e) < 0)
		return -1;
	say_info("Protected \"%s\"", i->name);
	return 0;
}

static int unprotect_one(const struct inst *i, const char *file, struct err *e)
{
	if (!fs_exists(file)) {
		say_warn("Instance \"%s\" isn't protected. Skipping.", i->name);
		return 0;
	}
	if (unlink(file) < 0 && errno != ENOENT)
		return err_errno(e, "remove %s", file);
	say_info("Unprotected \"%s\"", i->name);
	return 0;
}

static int one(const char *name, int (*fn)(const struct inst *i, const char *file, struct err *e), struct err *e)
{
	auto_free char *file = NULL;
	struct inst i;
	int rc;

	if (inst_open(name, &i, e) < 0)
		return -1;
	file = path_in(i.dir, PATH_PROTECTED);
	rc = fn(&i, file, e);
	inst_fini(&i);
	return rc;
}

/* One that fails does not keep the others from it; all errors are told in the end. */
static int all(const struct call *call, int (*fn)(const struct inst *i, const char *file, struct err *e), struct err *e)
{
	auto_buf errors = BUF_INIT(ERRORS_MAX);

	for (size_t n = 0; n < call->args; n++) {
		struct err why = { 0 };

		if (one(call->arg[n], fn, &why) < 0)
			buf_addf(&errors, "%s%s", errors.len ? "\n" : "", why.msg);
	}
	return errors.len ? err_set(e, ERR_STATE, "%s", errors.data) : 0;
}

static int run_protect(const struct call *call, struct err *e)
{
	return all(call, protect_one, e);
}

static int run_unprotect(const struct call *call, struct err *e)
{
	return all(call, unprotect_one, e);
}

const struct cmd cmd_protect = {
	.name = "protect",
	.args = "INSTANCE...",
	.summary = "Protect instances from delete and factory-reset",
	.least = 1,
	.most = CMD_ARGS_ANY,
	.run = run_protect,
};

const struct cmd cmd_unprotect = {
	.name = "unprotect",
	.args = "INSTANCE...",
	.summary = "Let protected instances be deleted again",
	.least = 1,
	.most = CMD_ARGS_ANY,
	.run = run_unprotect,
};
