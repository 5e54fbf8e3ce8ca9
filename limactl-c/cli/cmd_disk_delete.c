/* disk delete and disk unlock. */
#include <string.h>

#include "lib/buf.h"
#include "lib/cleanup.h"
#include "limactl-c/base/mem.h"
#include "limactl-c/cli/cmd.h"
#include "limactl-c/cli/say.h"
#include "limactl-c/cli/setup.h"
#include "limactl-c/store/disk.h"
#include "limactl-c/store/folder.h"
#include "limactl-c/store/inst.h"

struct disk_delete_opts {
	bool force;
};

enum { NAMES_MAX = 700 };

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static bool names_disk(const struct inst *i, const char *disk)
{
	auto_setup s = SETUP_INIT;
	struct err ignored = { 0 };

	if (setup_read_inst(&s, i, &ignored) < 0 || setup_check_quietly(&s, &ignored) < 0)
		return false;
	for (size_t k = 0; k < s.cfg.additional_disks; k++)
		if (!strcmp(s.cfg.additional_disk[k].name, disk))
			return true;
	return false;
}

/* The instances whose lima.yaml names the disk: "a, b", "" when there is none. */
static int referred_by(const char *disk, struct buf *out, struct err *e)
{
	char **names;
	size_t count;

	if (inst_list(&names, &count, e) < 0)
		return -1;
	for (size_t i = 0; i < count; i++) {
		struct err ignored = { 0 };
		struct inst inst;

		if (inst_open(names[i], &inst, &ignored) < 0)
			continue;
		if (names_disk(&inst, disk))
			buf_addf(out, "%s%s", out->len ? ", " : "", names[i]);
		inst_fini(&inst);
	}
	folder_list_free(names, count);
	return 0;
}

/* 1: it may go; 0: it was told why not. */
static int may_delete(const struct disk *d, struct err *e)
{
	auto_free char *user = disk_user(d);
	auto_buf by = BUF_INIT(NAMES_MAX);

	if (user)
		return err_set(e, ERR_STATE, "cannot delete disk \"%s\" in use by instance \"%s\"", d->name, base_name(user));
	if (referred_by(d->name, &by, e) < 0)
		return -1;
	if (!by.len)
		return 1;
	say_warn("Skipping deleting disk \"%s\", disk is referenced by one or more non-running instances: %s", d->name, by.data);
	say_warn("To delete anyway, run `limactl-c disk delete --force %s`", d->name);
	return 0;
}

/* Opens a disk that may not be there: 0 then, said as a warning. */
static int open_known(const char *name, struct disk *d, struct err *e)
{
	if (disk_open(name, d, e) == 0)
		return 1;
	if (e->kind != ERR_NOTFOUND)
		return -1;
	say_warn("Ignoring non-existent disk \"%s\"", name);
	*e = (struct err){ 0 };
	return 0;
}

static int delete_one(const char *name, bool force, struct err *e)
{
	auto_disk d = DISK_INIT;
	int rc = open_known(name, &d, e);

	if (rc > 0 && !force)
		rc = may_delete(&d, e);
	if (rc <= 0)
		return rc;
	if (disk_delete(&d, e) < 0)
		return err_wrap(e, "disk \"%s\"", name);
	say_info("Deleted \"%s\" (%s)", name, d.dir);
	return 0;
}

static int run_delete(const struct call *call, struct err *e)
{
	const struct disk_delete_opts *o = call->opts;

	for (size_t n = 0; n < call->args; n++)
		if (delete_one(call->arg[n], o->force, e) < 0)
			return -1;
	return 0;
}

/* Nothing needs to be unlocked here: what a dead process held is free. The mark it left is removed. */
static int unlock_one(const char *name, struct err *e)
{
	auto_disk d = DISK_INIT;
	auto_free char *user = NULL;
	bool was_marked;
	int rc = open_known(name, &d, e);

	if (rc <= 0)
		return rc;
	was_marked = disk_is_marked(&d);
	user = disk_user(&d);
	if (user)
		say_warn("Cannot unlock disk \"%s\" used by running instance \"%s\"", name, base_name(user));
	else if (was_marked)
		say_info("Unlocked disk \"%s\" (%s)", name, d.dir);
	else
		say_warn("Ignoring unlocked disk \"%s\"", name);
	return 0;
}

static int run_unlock(const struct call *call, struct err *e)
{
	for (size_t n = 0; n < call->args; n++)
		if (unlock_one(call->arg[n], e) < 0)
			return -1;
	return 0;
}

static const struct opt opts[] = {
	{ "force", 'f', OPT_FLAG, offsetof(struct disk_delete_opts, force), .help = "also when an instance names or uses it" },
	{ 0 },
};

const struct cmd cmd_disk_delete = {
	.name = "delete",
	.alias = { "remove", "rm" },
	.group = "disk",
	.args = "DISK...",
	.summary = "Delete disks",
	.opt = opts,
	.opts_size = sizeof(struct disk_delete_opts),
	.least = 1,
	.most = CMD_ARGS_ANY,
	.run = run_delete,
};

const struct cmd cmd_disk_unlock = {
	.name = "unlock",
	.group = "disk",
	.args = "DISK...",
	.summary = "Forget who used disks, for instances that ended without a word",
	.least = 1,
	.most = CMD_ARGS_ANY,
	.run = run_unlock,
};
