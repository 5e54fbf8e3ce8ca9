/* Which snapshots the host agent lets the machine make and go back to. The driver has none: what gets so far ends there. */
#include "tests/unit/snapshot_table.h"

#include "limactl-c/hostagent/state.h"
#include "limactl-c/plan/snapshot.h"
#include "tests/unit/ha_stub.h"

enum { AT_TABLE = 104, L1 = 900, SIZE = 1 << 30 };

static char disk_path[60];
static struct plan_disk disk = { .path = disk_path, .format = (char *)"qcow2" };

/* A machine that runs, whose disk has that snapshot. */
static void start_with_snapshot(const char *tag, uint64_t memory, uint64_t size)
{
	unsigned char image[1000] = "QFI\xfb";
	struct err e = { 0 };

	be(image + 24, size, 8);
	be(image + 36, 2, 4);
	be(image + 40, L1, 8);
	be(image + 60, 1, 4);
	be(image + 64, AT_TABLE, 8);
	entry(image + AT_TABLE, "1", tag, memory, 24);
	snprintf(disk_path, sizeof(disk_path), "%s/disk", dir);
	assert_int_equal(fs_write_atomic(disk_path, image, sizeof(image), 0600, &e), 0);
	plan.driver = PLAN_QEMU;
	plan.disk = &disk;
	plan.disks = 1;
	start();
}

static void one_that_others_made_is_for_a_stopped_machine(void **state)
{
	(void)state;
	start_with_snapshot("a tag", 1, SIZE);
	expect("POST", "/v1/snapshot/apply", "{\"tag\":\"other\"}", "409", "(there are: a tag)");
	expect("POST", "/v1/snapshot/apply", "{\"tag\":\"a tag\"}", "409", "does not fit this machine (this instance did not make it)");
}

static void nor_is_one_without_a_note_gone_back_to(void **state)
{
	(void)state;
	start_with_snapshot("one", 1, SIZE);
	expect("POST", "/v1/snapshot/apply", "{\"tag\":\"one\"}", "409", "does not fit this machine (this instance did not make it)");
}

static void nor_one_without_memory(void **state)
{
	(void)state;
	start_with_snapshot("one", 0, SIZE);
	expect("POST", "/v1/snapshot/apply", "{\"tag\":\"one\"}", "409", "was made while the instance was stopped");
}

static void nor_one_of_a_smaller_disk(void **state)
{
	(void)state;
	start_with_snapshot("one", 1, 2ULL * SIZE);
	expect("POST", "/v1/snapshot/apply", "{\"tag\":\"one\"}", "409", "the disk was made larger");
}

static void one_that_cannot_be_begun_leaves_nothing(void **state)
{
	(void)state;
	start_with_snapshot("one", 1, SIZE);
	expect("POST", "/v1/snapshot/create", "{\"tag\":\"one\"}", "409", "already");
	expect("POST", "/v1/snapshot/create", "{\"tag\":\"a tag\"}", "409", "only letters");
	expect("POST", "/v1/snapshot/create", "{\"tag\":\"two\"}", "409", "have no snapshots while they run");
	assert_true(in_folder("snapshots"));
	assert_false(in_folder("snapshots/two.json"));
	expect("POST", "/v1/snapshot/delete", "{\"tag\":\"one\"}", "409", "have no snapshots while they run");
}

/* A saved machine, and its disk set back by somebody who was killed before the machine was removed. */
static void a_saved_machine_fits_the_disk_until_that_is_set_back(void **state)
{
	unsigned char other[8];
	char path[100];
	struct err e = { 0 };
	int fd;

	(void)state;
	start_with_snapshot("one", 0, SIZE);
	snprintf(path, sizeof(path), "%s/vm.state.tmp", dir);
	assert_int_equal(fs_write_atomic(path, "memory", 6, 0600, &e), 0);
	assert_int_equal(state_commit(&plan, &e), 0);
	assert_int_equal(snapshot_tie_state(&plan, &e), 0);
	assert_int_equal(state_check(&plan, &e), 1);
	fd = open(disk_path, O_WRONLY);
	be(other, 0x70000, 8);
	assert_int_equal(pwrite(fd, other, 8, L1), 8);
	close(fd);
	assert_int_equal(state_check(&plan, &e), -1);
	assert_non_null(strstr(e.msg, "was set back to a snapshot"));
}

int main(void)
{
#define T(fn) cmocka_unit_test_setup_teardown(fn, begin, end)
	const struct CMUnitTest tests[] = {
		T(one_that_others_made_is_for_a_stopped_machine),
		T(nor_is_one_without_a_note_gone_back_to),
		T(nor_one_without_memory),
		T(nor_one_of_a_smaller_disk),
		T(one_that_cannot_be_begun_leaves_nothing),
		T(a_saved_machine_fits_the_disk_until_that_is_set_back),
	};

	return cmocka_run_group_tests(tests, with_spawner, without_spawner);
}
