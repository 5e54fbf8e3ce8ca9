/* Snapshots by QEMU's jobs, against a scripted QEMU. */
#include "tests/unit/qemu_rig.h"

/* Each kind several times: a job that was not dismissed would be in the way of the next. */
static void snapshots(const char *how, bool paused)
{
	enum vm_state stays = paused ? VM_PAUSED : VM_RUNNING;
	struct buf asked = BUF_INIT(10000);
	struct err e = { 0 };
	struct rig r;

	begin_running(&r, how);
	if (paused) {
		RIG_BEGIN(&r, pause);
		rig_expect(&r, VM_EV_DONE, VM_PAUSED);
	}
	for (int i = 0; i < 6; i++) {
		RIG_BEGIN(&r, snapshot, (enum vm_snapshot)(i % 3), "a tag");
		RIG_REFUSED(&r, snapshot, VM_SNAPSHOT_CREATE, "other");
		rig_expect(&r, VM_EV_DONE, stays);
	}
	rig_quiet(&r);
	assert_int_equal(io_read_file("asked", &asked, &e), 0);
	assert_non_null(strstr(asked.data, "snapshot-save"));
	assert_non_null(strstr(asked.data, "\"tag\":\"a tag\",\"vmstate\":\"disk0\",\"devices\":[\"disk0\"]"));
	buf_free(&asked);
	finish(&r);
}

static void test_snapshots(void **state)
{
	(void)state;
	snapshots("ok", false);
	snapshots("ok", true);
	snapshots("early", false);
}

static void test_snapshots_fail(void **state)
{
	struct rig r;

	(void)state;
	begin_running(&r, "refuses");
	for (int i = 0; i < 3; i++) {
		RIG_BEGIN(&r, snapshot, (enum vm_snapshot)i, "t");
		rig_fails(&r, VM_EV_FAILED, VM_RUNNING, "machine: QEMU: not today");
	}
	finish(&r);
	begin_running(&r, "jobless");
	RIG_BEGIN(&r, snapshot, VM_SNAPSHOT_CREATE, "t");
	rig_fails(&r, VM_EV_FAILED, VM_RUNNING, "cannot make a snapshot of the machine: QEMU: No space left");
	RIG_BEGIN(&r, snapshot, VM_SNAPSHOT_DELETE, "t");
	rig_fails(&r, VM_EV_FAILED, VM_RUNNING, "No space left");
	/* Its memory may be anything by now. */
	RIG_BEGIN(&r, snapshot, VM_SNAPSHOT_APPLY, "t");
	rig_fails(&r, VM_EV_FAILED, VM_OFF, "cannot set back the machine: QEMU: No space left");
	rig_fails(&r, VM_EV_EXITED, VM_OFF, "No space left");
	check_clean(&r);
	end(&r);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_snapshots),
		cmocka_unit_test(test_snapshots_fail),
	};

	return qemu_rig_main(argc, argv, tests);
}
