/* Folders of the host in the guest, with a file system that any kernel has in place of 9p. */
#include "tests/unit/setup_root.h"

#include <sched.h>
#include <sys/mount.h>
#include <sys/statvfs.h>

static int own_mounts(void **state)
{
	if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		return -1;
	return begin(state);
}

static int own_mounts_end(void **state)
{
	umount2(at("/a b/in"), MNT_DETACH);
	umount2(at("/a b"), MNT_DETACH);
	return end(state);
}

/* On a root of its own the paths are below it. */
static void test_each_is_mounted_as_told(void **state)
{
	struct statvfs outer, inner;
	struct err e = { 0 };

	(void)state;
	set("mount.00.point", "/a b");
	set("mount.00.tag", "lima-1");
	set("mount.00.type", "tmpfs");
	set("mount.00.writable", "true");
	set("mount.00.options", "size=64k");
	set("mount.01.point", "/a b/in");
	set("mount.01.tag", "lima-2");
	set("mount.01.type", "tmpfs");
	set("mount.01.writable", "false");
	assert_int_equal(setup_shares(&su, &e), 0);
	assert_int_equal(statvfs(at("/a b"), &outer), 0);
	assert_int_equal(statvfs(at("/a b/in"), &inner), 0);
	assert_false(outer.f_flag & ST_RDONLY);
	assert_int_equal(outer.f_blocks * outer.f_frsize, 64 << 10);
	assert_true(inner.f_flag & ST_RDONLY);
	assert_true(outer.f_fsid != inner.f_fsid);
	assert_false(su_exists(&su, RUN_DIR "/setup.warnings"));
}

static void test_one_that_fails_costs_no_other(void **state)
{
	struct statvfs st, root_st;
	struct err e = { 0 };

	(void)state;
	put("/file", "", 0644);
	set("mount.00.point", "/none");
	set("mount.00.type", "no-such-fs");
	set("mount.01.point", "/file/x");
	set("mount.01.type", "tmpfs");
	set("mount.02.point", "/a b");
	set("mount.02.type", "tmpfs");
	assert_int_equal(setup_shares(&su, &e), 0);
	assert_int_equal(statvfs(at("/a b"), &st), 0);
	assert_int_equal(statvfs(root, &root_st), 0);
	assert_true(st.f_fsid != root_st.f_fsid);
	assert_non_null(strstr(text_of(RUN_DIR "/trouble/mounts"),
			       "/none: this guest's kernel has no no-such-fs: use another `mountType`; /file/x: "));
	assert_non_null(strstr(text_of(RUN_DIR "/setup.warnings"), "mount /none: "));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_each_is_mounted_as_told, own_mounts, own_mounts_end),
		cmocka_unit_test_setup_teardown(test_one_that_fails_costs_no_other, own_mounts, own_mounts_end),
	};

	/* Mounting is root's. */
	return geteuid() == 0 ? cmocka_run_group_tests(tests, NULL, NULL) : 0;
}
