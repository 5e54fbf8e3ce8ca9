/* qemu_vm.h - one QEMU machine; private to the files qemu*.c.
 *
 * An operation is a row of steps (qemu_ops.c): each sends something and names what it waits for. Whatever comes from
 * QEMU, from its console, from a child or from the clock is taken by qemu_step() (qemu.c), which goes on with the row.
 */
#ifndef LIMA_QEMU_VM_H
#define LIMA_QEMU_VM_H

#include "limactl-c/driver/common.h"
#include "limactl-c/driver/disks.h"
#include "limactl-c/driver/qemu_console.h"
#include "limactl-c/driver/qmp.h"
#include "limactl-c/driver/shares.h"
#include "limactl-c/driver/waitset.h"

enum qemu_op {
	OP_NONE,
	OP_START,
	OP_ADOPT,
	OP_PAUSE,
	OP_RESUME,
	OP_SAVE,
	OP_RESTORE,
	OP_SNAPSHOT_CREATE,
	OP_SNAPSHOT_APPLY,
	OP_SNAPSHOT_DELETE,
	OP_POWERDOWN,
	OP_KILL,
	OPS,
};

/* What a step waits for before the next one begins. */
enum qemu_wait {
	WAIT_NOTHING,
	WAIT_GREETING,
	WAIT_REPLY,     /* to the command it has sent; a refusal fails the operation */
	WAIT_MIGRATION, /* completed, by event */
	WAIT_JOB,       /* concluded, by event */
	WAIT_SYNC,      /* the state's file is on the disk */
	WAIT_EXIT,
};

struct qemu_step {
	enum qemu_wait wait;
	int (*begin)(struct vm *vm, struct err *e);                          /* may be NULL; -1 fails the operation */
	int (*reply)(struct vm *vm, const struct jx *data, struct err *e);  /* looks at the reply; may be NULL */
};

struct vm {
	const struct plan *plan;
	struct spawner *spawner;
	struct waitset *waits;
	struct vm_events events;
	struct vm_disks disks;
	struct vm_shares shares; /* started by us; empty for a machine that was adopted */
	enum vm_state state;

	struct qmp *qmp;
	struct qemu_console *console;
	pid_t pid;
	int pidfd;
	bool ours;          /* started by our spawner, which reports its end */
	bool status_known;
	int status;
	bool output;        /* commands wait for room in the socket */
	bool eof;           /* QMP has ended: so has QEMU */
	bool guest_off;     /* the guest asked for the end */
	bool guest_reset;   /* it has reset the machine, which is not told yet */
	bool went_on;       /* by somebody else's word, which is not told yet */
	off_t log_from;     /* where this QEMU's part of driver.stderr.log begins */

	enum qemu_op op;
	enum vm_state before; /* the state an operation began in */
	size_t at;            /* its step */
	int64_t deadline;     /* its end at the latest, -1 = none */
	int64_t wake;         /* an earlier moment to look again: button, exit status; -1 = none */
	uint64_t waited_id;   /* WAIT_REPLY */
	bool migrated;        /* the migration that was begun last is completed */
	uint64_t why_id;      /* query-migrate, asked why it failed; 0 = not asked */
	bool greeted, ready;  /* QMP: has spoken; takes commands */
	bool ending;          /* QEMU was killed for failure, which is reported when it is gone */
	struct err failure;
	char job[48];         /* the name of the job that was begun last */
	bool concluded;       /* it is over, well or not */
	char *path;           /* of the state's file; of a snapshot: its tag */
	int state_fd;         /* of it, -1 = none */
	int sync_fd;          /* end of a pipe from the process that syncs it, -1 = none */
	pid_t sync_pid;
};

/* qemu_ops.c */
void qemu_op_begin(struct vm *vm, enum qemu_op op, enum vm_state during);
void qemu_op_message(struct vm *vm, const struct qmp_msg *m);
void qemu_op_sync(struct vm *vm);                 /* sync_fd may be readable */
void qemu_op_time(struct vm *vm, int64_t now);    /* deadline or wake has passed */
void qemu_op_gone(struct vm *vm, const struct err *why); /* QEMU has ended and everything of it was put away */
void qemu_op_end(struct vm *vm);                  /* forgets the operation's things */
void qemu_op_failed(struct vm *vm, const struct err *e);

/* Sends a command, whose reply the step waits for; takes args (may be NULL). */
int qemu_send(struct vm *vm, const char *command, struct jx *args, struct err *e);

/* qemu_jobs.c: steps of a snapshot. */
int qemu_job_begin(struct vm *vm, struct err *e);
int qemu_job_query(struct vm *vm, struct err *e);
int qemu_job_take(struct vm *vm, const struct jx *data, struct err *e); /* how it ended */
int qemu_job_dismiss(struct vm *vm, struct err *e);

/* qemu_sync.c: an fsync that does not make us wait. */
int qemu_sync_begin(struct vm *vm, struct err *e);
int qemu_sync_end(struct vm *vm, struct err *e); /* 1 done, 0 not yet, -1 failed */

/* qemu_start.c */
int qemu_launch(struct vm *vm, bool incoming, struct err *e);
int qemu_connect(struct vm *vm, struct err *e); /* to one that runs already */
void qemu_put_away(struct vm *vm);              /* sockets, files and descriptors of a QEMU that has ended */
void qemu_let_go(struct vm *vm);                /* our descriptors only */

#endif
