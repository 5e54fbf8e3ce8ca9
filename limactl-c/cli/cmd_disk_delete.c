/* disk delete and disk unlock. */
#include <stdlib.h>
#include <string.h>

#include "lib/buf.h"
#include "lib/cleanup.h"
#include "limactl-c/base/mem.h"
#include "limactl-c/cli/cmd.h"
#include "limactl-c/cli/say.h"
#include "limactl-c/cli/setup.h"
#include "limactl-c/store/disk.h"
#include "limactl-c/store/inst.h"

struct disk_delete_opts {
	bool force;
};

enum { NAMES_MAX = 700 };

/* Which instances name which disks, read when it is first asked for. */
struct wishes {
	bool known;
	struct wish {
		char *disk, *instance;
	} *wish;
	size_t count;
};

static void wishes_free(struct wishes *w)
{
	for (size_t i = 0; i < w->count; i++) {
		free(w->wish[i].disk);
		free(w->wish[i].instance);
	}
	free(w->wish);
}

static void add_wishes(void *arg, const struct inst *i, const struct cfg *c)
{
	struct wishes *w = arg;

	for (size_t k = 0; k < c->additional_disks; k++) {
		w->wish = xrealloc_array(w->wish, w->count + 1, sizeof(*w->wish));
		w->wish[w->count++] = (struct wish){ xstrdup(c->additional_disk[k].name), xstrdup(i->name) };
	}
}

/* The instances whose lima.yaml names the disk: "a, b", "" when there is none. */
static int referred_by(const char *disk, struct wishes *w, struct buf *out, struct err *e)
{
	if (!w->known && setup_each_inst(add_wishes, w, e) < 0) {
		auto_free char *why = xstrdup(e->msg);

		return err_set(e, ERR_STATE, "disk \"%s\" is not deleted, for nobody knows whether an instance wants it (%.700s); "
			       "`limactl-c disk delete --force %s` deletes it anyway", disk, why, disk);
	}
	w->known = true;
	for (size_t i = 0; i < w->count; i++)
		if (!strcmp(w->wish[i].disk, disk))
			buf_addf(out, "%s%s", out->len ? ", " : "", w->wish[i].instance);
	return 0;
}

/* 1: it may go; 0: it was told why not. */
static int may_delete(const struct disk *d, struct wishes *w, struct err *e)
{
	auto_free char *user = disk_user(d), *words = disk_user_words(user);
	auto_buf by = BUF_INIT(NAMES_MAX);

	if (words)
		return err_set(e, ERR_STATE, "cannot delete disk \"%s\" in use by %s", d->name, words);
	if (referred_by(d->name, w, &by, e) < 0)
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

static int delete_one(const char *name, struct wishes *w, bool force, struct err *e)
{
	auto_disk d = DISK_INIT;
	int rc = open_known(name, &d, e);

	if (rc > 0 && !force)
		rc = may_delete(&d, w, e);
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
	CLEANUP(wishes_free) struct wishes w = { 0 };

	for (size_t n = 0; n < call->args; n++)
		if (delete_one(call->arg[n], &w, o->force, e) < 0)
			return -1;
	return 0;
}

/* Nothing needs to be unlocked here: what a dead process held is free. The mark it left is removed. */
static int unlock_one(const char *name, struct err *e)
{
	auto_disk d = DISK_INIT;
	auto_free char *user = NULL, *words = NULL;
	bool was_marked;
	int rc = open_known(name, &d, e);

	if (rc <= 0)
		return rc;
	was_marked = disk_is_marked(&d);
	user = disk_user(&d);
	words = disk_user_words(user);
	if (words)
		say_warn("Cannot unlock disk \"%s\" used by %s%s", name, *user ? "running " : "", words);
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
