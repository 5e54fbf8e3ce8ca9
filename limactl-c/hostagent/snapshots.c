#include "limactl-c/hostagent/snapshots.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/cleanup.h"
#include "lib/log.h"
#include "limactl-c/base/fs.h"
#include "limactl-c/base/mem.h"
#include "limactl-c/hostagent/state.h"
#include "limactl-c/plan/snapshot.h"
#include "limactl-c/store/paths.h"

/* The note is there before the snapshot is: one without it could not be gone back to. */
static int check_create(const struct ha *ha, const struct qcow2_snapshots *s, const char *tag, struct err *e)
{
	auto_free char *dir = path_in(ha->plan->dir, PATH_SNAPSHOTS), *note = NULL;

	if (snapshot_check_tag(tag, e) < 0 || snapshot_check_new(s, tag, e) < 0 || fs_mkdir(dir, 0700, e) < 0)
		return -1;
	note = snapshot_note(ha->plan, tag);
	return state_note(ha->plan, note, e);
}

static int check_apply(const struct ha *ha, const struct qcow2_snapshots *s, const char *tag, struct err *e)
{
	const struct qcow2_snapshot *found = snapshot_find(s, tag, e);
	auto_free char *note = found ? snapshot_note(ha->plan, tag) : NULL, *why = NULL;

	if (!found || snapshot_check_apply(s, tag, e) < 0)
		return -1;
	if (!found->memory)
		return err_set(e, ERR_STATE, "snapshot \"%s\" was made while the instance was stopped, so the machine's memory is not "
			       "in it: stop the instance to go back to it", tag);
	if (found->disk_size && found->disk_size != s->size)
		return err_set(e, ERR_STATE, "the disk was made larger since snapshot \"%s\" was made: stop the instance to go back "
			       "to it", tag);
	if (note && state_fits(ha->plan, note, e) == 0)
		return 0;
	why = xstrdup(!note || e->errnum == ENOENT ? "this instance did not make it" : e->msg);
	return err_set(e, ERR_STATE, "the memory in snapshot \"%s\" does not fit this machine (%s): stop the instance to go back to "
		       "its disk", tag, why);
}

static int check_delete(const struct ha *ha, const struct qcow2_snapshots *s, const char *tag, struct err *e)
{
	(void)ha;
	return snapshot_find(s, tag, e) ? 0 : -1;
}

static int (*const checks[])(const struct ha *ha, const struct qcow2_snapshots *s, const char *tag, struct err *e) = {
	[VM_SNAPSHOT_CREATE] = check_create,
	[VM_SNAPSHOT_APPLY] = check_apply,
	[VM_SNAPSHOT_DELETE] = check_delete,
};

int snapshots_begin(struct ha *ha, enum vmctl_op op, const char *tag, struct err *e)
{
	auto_free char *harvest = path_in(ha->plan->dir, PATH_HARVEST);
	auto_snapshots s = QCOW2_SNAPSHOTS_INIT;

	if (snapshot_possible(ha->plan, op != VMCTL_SNAPSHOT_DELETE, e) < 0 || snapshot_list(ha->plan, &s, e) < 0 ||
	    checks[op - VMCTL_SNAPSHOT_CREATE](ha, &s, tag, e) < 0)
		return -1;
	if (op != VMCTL_SNAPSHOT_DELETE)
		guest_disconnect(ha->guest);
	if (op == VMCTL_SNAPSHOT_APPLY) {
		/* The kernel that was taken out of the guest may be one it does not have then. */
		harvester_stop(ha->harvester);
		if (fs_remove_tree(harvest, e) < 0)
			log_warn("%s", e->msg);
	}
	if (life_operation_on(ha, op, tag, e) == 0) {
		free(ha->snapshot.tag);
		ha->snapshot.tag = xstrdup(tag);
		ha->snapshot.op = op;
		return 0;
	}
	guest_connect(ha->guest);
	if (op == VMCTL_SNAPSHOT_CREATE)
		snapshot_forget(ha->plan, tag);
	return -1;
}

void snapshots_over(struct ha *ha, bool done)
{
	static const char *const words[] = {
		[VM_SNAPSHOT_CREATE] = "is made",
		[VM_SNAPSHOT_APPLY] = "is what the machine is now",
		[VM_SNAPSHOT_DELETE] = "is deleted",
	};
	enum vmctl_op op = ha->snapshot.op;

	if (op == (done ? VMCTL_SNAPSHOT_DELETE : VMCTL_SNAPSHOT_CREATE))
		snapshot_forget(ha->plan, ha->snapshot.tag);
	if (done)
		log_info("snapshot \"%s\" %s", ha->snapshot.tag, words[op - VMCTL_SNAPSHOT_CREATE]);
	if (vmctl_state(ha->vm) != VM_OFF)
		guest_connect(ha->guest);
}
