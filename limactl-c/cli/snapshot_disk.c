#include "limactl-c/cli/snapshot_disk.h"

#include <inttypes.h>
#include <unistd.h>

#include "limactl-c/base/fs.h"
#include "limactl-c/base/mem.h"
#include "limactl-c/base/qemu_img.h"
#include "limactl-c/cli/make.h"
#include "limactl-c/cli/say.h"
#include "limactl-c/plan/snapshot.h"
#include "limactl-c/store/paths.h"

/* An instance held, and what its disk has. */
struct still {
	struct inst_hold hold;
	struct plan plan;
	struct qcow2_snapshots have;
};

static void still_end(struct still *s)
{
	qcow2_snapshots_free(&s->have);
	plan_free(&s->plan);
	inst_release(&s->hold);
}
#define auto_still CLEANUP(still_end) struct still

static int still_begin(struct still *s, const struct inst *i, struct err *e)
{
	*s = (struct still){ .hold = INST_HOLD_INIT };
	if (inst_hold(i, &s->hold, e) < 0 || make_load(i, &s->plan, e) < 0)
		return -1;
	return snapshot_possible(&s->plan, false, e) < 0 ? -1 : snapshot_list(&s->plan, &s->have, e);
}

static int run(const struct still *s, const char *option, const char *arg, struct err *e)
{
	const char *path = s->plan.disk[0].path;

	return qemu_img((const char *[]){ "qemu-img", "snapshot", "-q", option, arg, path, NULL }, path, e);
}

int snapshot_disk_create(const struct inst *i, const char *tag, struct err *e)
{
	auto_free char *state = path_in(i->dir, PATH_STATE);
	auto_still s;

	if (still_begin(&s, i, e) < 0 || snapshot_check_new(&s.have, tag, e) < 0)
		return -1;
	/* Its disk is one that a machine is in the middle of. */
	if (fs_exists(state))
		return err_set(e, ERR_STATE, "instance \"%s\" has a saved machine: start it and make the snapshot while it runs, or stop "
			       "it after that", i->name);
	return run(&s, "-c", tag, e);
}

static int drop(const struct inst *i, enum path_name what, struct err *e)
{
	auto_free char *path = path_in(i->dir, what);

	return fs_remove_tree(path, e);
}

/* A disk has the size in a snapshot that it had then; the plan's is the one it has now. */
static int keep_size(const struct still *s, const struct qcow2_snapshot *one, struct err *e)
{
	auto_free char *size = xasprintf("%" PRIu64, s->have.size);
	const char *path = s->plan.disk[0].path;

	if (!one->disk_size || one->disk_size >= s->have.size)
		return 0;
	return qemu_img((const char *[]){ "qemu-img", "resize", "-q", "-f", "qcow2", path, size, NULL }, path, e);
}

int snapshot_disk_apply(const struct inst *i, const char *tag, struct err *e)
{
	const struct qcow2_snapshot *one;
	auto_still s;

	/* The kernel fits the disk as it is now only, and is soon taken out of the guest again. The saved machine is not, so it is there
	 * until the disk is another one. */
	if (still_begin(&s, i, e) < 0 || !(one = snapshot_find(&s.have, tag, e)) || drop(i, PATH_HARVEST, e) < 0 ||
	    snapshot_tie_state(&s.plan, e) < 0)
		return -1;
	/* qemu-img takes a number for an id before it takes it for a tag. */
	if (run(&s, "-a", one->id, e) < 0 || drop(i, PATH_STATE, e) < 0 || drop(i, PATH_STATE_META, e) < 0 || keep_size(&s, one, e) < 0)
		return -1;
	if (one->memory)
		say_info("The machine's memory in \"%s\" is for an instance that runs: this one boots from the disk as it was then", tag);
	return 0;
}

int snapshot_disk_delete(const struct inst *i, const char *tag, struct err *e)
{
	auto_still s;

	if (still_begin(&s, i, e) < 0 || !snapshot_find(&s.have, tag, e) || run(&s, "-d", tag, e) < 0)
		return -1;
	snapshot_forget(&s.plan, tag);
	return 0;
}
