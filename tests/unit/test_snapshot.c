/* Which tags a snapshot may have, and which machines can have any. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "limactl-c/plan/snapshot.h"

static void test_tags(void **state)
{
	static const char *const good[] = { "a", "1", "before-upgrade_2.1+x", "A.b" };
	static const char *const bad[] = { "", ".", "-a", "_a", "a b", "a/b", "a\n", "\x1b[1m", "\xc3\xa4", "a:b",
		"12345678901234567890123456789012345678901234567890123456789012345678901234567" };
	struct err e;

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++)
		assert_int_equal(snapshot_check_tag(good[i], &e), 0);
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		assert_int_equal(snapshot_check_tag(bad[i], &e), -1);
		assert_int_equal(strcspn(e.msg, "\n\x1b"), strlen(e.msg));
	}
}

static void refused(const struct plan *p, bool running, const char *words)
{
	struct err e;

	assert_int_equal(snapshot_possible(p, running, &e), -1);
	assert_non_null(strstr(e.msg, words));
}

static void test_machines(void **state)
{
	struct plan_disk disks[] = {
		{ .path = (char *)"/i/disk", .format = (char *)"qcow2" },
		{ .path = (char *)"/cache/engine", .format = (char *)"raw", .readonly = true },
		{ .path = (char *)"/d/datadisk", .format = (char *)"qcow2", .name = (char *)"data" },
	};
	struct plan_mount mount = { .type = PLAN_MOUNT_9P };
	struct plan p = { .name = (char *)"t", .driver = PLAN_QEMU, .disk = disks, .disks = 2 };
	struct err e;

	(void)state;
	assert_int_equal(snapshot_possible(&p, true, &e), 0);
	p.mount = &mount;
	p.mounts = 1;
	refused(&p, true, "shares folders (mounts)");
	assert_int_equal(snapshot_possible(&p, false, &e), 0);
	p.mounts = 0;
	p.disks = 3;
	refused(&p, true, "extra disk \"data\"");
	refused(&p, false, "extra disk \"data\"");
	p.disks = 0;
	refused(&p, false, "not of format qcow2");
	p.disks = 1;
	disks[0].format = (char *)"raw";
	refused(&p, false, "not of format qcow2");
	p.driver = PLAN_FAKE;
	refused(&p, true, "stop the instance first");
}

/* A tag may be a number, and so is an id. */
static void test_numbers(void **state)
{
	struct qcow2_snapshot one[] = { { .id = (char *)"1", .tag = (char *)"2" }, { .id = (char *)"2", .tag = (char *)"3\n" },
					{ .id = (char *)"4", .tag = (char *)"4" }, { .id = (char *)"5", .tag = (char *)"1.0" } };
	struct qcow2_snapshots all = { one, 4, 0 };
	struct err e;

	(void)state;
	assert_int_equal(snapshot_check_apply(&all, "2", &e), -1);
	assert_non_null(strstr(e.msg, "stop the instance"));
	assert_null(strchr(e.msg, '\n'));
	assert_int_equal(snapshot_check_apply(&all, "4", &e), 0);
	assert_int_equal(snapshot_check_apply(&all, "1.0", &e), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_tags),
		cmocka_unit_test(test_machines),
		cmocka_unit_test(test_numbers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
