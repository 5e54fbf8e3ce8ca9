/* Snapshots: QEMU's jobs, each begun, waited for by event, asked how it ended and dismissed. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "limactl-c/driver/qemu_vm.h"

#define DISK "disk0" /* the machine's own: node of qemu_args.c */

static struct jx *named(const struct vm *vm, const char *member)
{
	struct jx *args = jx_new_object();

	jx_set_string(args, member, vm->job);
	return args;
}

int qemu_job_begin(struct vm *vm, struct err *e)
{
	static const char *const commands[OPS] = {
		[OP_SNAPSHOT_CREATE] = "snapshot-save",
		[OP_SNAPSHOT_APPLY] = "snapshot-load",
		[OP_SNAPSHOT_DELETE] = "snapshot-delete",
	};
	static unsigned long count;
	struct jx *args, *nodes = jx_new_array();

	/* Another host agent may have died in the middle of one: its name is still taken. */
	snprintf(vm->job, sizeof(vm->job), "snapshot-%ld-%lu", (long)getpid(), ++count);
	vm->concluded = false;
	args = named(vm, "job-id");
	jx_set_string(args, "tag", vm->path);
	if (vm->op != OP_SNAPSHOT_DELETE)
		jx_set_string(args, "vmstate", DISK);
	jx_add_string(nodes, DISK);
	jx_set(args, "devices", nodes);
	return qemu_send(vm, commands[vm->op], args, e);
}

int qemu_job_query(struct vm *vm, struct err *e)
{
	return qemu_send(vm, "query-jobs", NULL, e);
}

int qemu_job_take(struct vm *vm, const struct jx *data, struct err *e)
{
	for (size_t i = 0; i < jx_count(data); i++) {
		const struct jx *job = jx_at(data, i);
		const char *why = jx_string_or(job, "error", NULL);

		if (strcmp(jx_string_or(job, "id", ""), vm->job) || !why)
			continue;
		qmp_send(vm->qmp, "job-dismiss", named(vm, "id"), -1); /* it needs no answer read for it to be done */
		return err_set(e, ERR_STATE, "QEMU: %.700s", why);
	}
	return 0;
}

int qemu_job_dismiss(struct vm *vm, struct err *e)
{
	return qemu_send(vm, "job-dismiss", named(vm, "id"), e);
}
