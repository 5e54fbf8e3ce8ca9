/* Folders of the host: those that are missing are made, for their owner only; all that is wrong is said at once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <sys/stat.h>

#include "lib/cleanup.h"
#include "limactl-c/cli/shares.h"
#include "tests/unit/tmp_dir.h"

static void test_missing_folders_are_made(void **state)
{
	auto_free char *path = xasprintf("%s/a b/c", (char *)*state), *above = xasprintf("%s/a b", (char *)*state);
	struct plan_mount m[] = { { .host_path = *state }, { .host_path = path } };
	const struct plan p = { .mount = m, .mounts = 2 };
	struct err e = { 0 };
	struct stat st;

	assert_int_equal(shares_prepare(&p, &e), 0);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0700);
	assert_int_equal(stat(above, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0700);
	assert_int_equal(shares_prepare(&p, &e), 0);
}

static void test_all_is_said_at_once(void **state)
{
	auto_free char *good = xasprintf("%s/good", (char *)*state);
	struct plan_mount m[] = { { .host_path = (char *)"/proc/none/a" }, { .host_path = good },
				  { .host_path = (char *)"/proc/none/b" }, { .host_path = (char *)"/dev/null/c" } };
	const struct plan p = { .mount = m, .mounts = 4 };
	struct err e = { 0 };

	assert_int_equal(shares_prepare(&p, &e), -1);
	assert_int_equal(e.kind, ERR_INVALID);
	assert_non_null(strstr(e.msg, "mounts: /proc/none/a: "));
	assert_non_null(strstr(e.msg, "; /proc/none/b: "));
	assert_non_null(strstr(e.msg, "/dev/null/c cannot be read: Not a directory"));
	assert_true(fs_exists(good));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_missing_folders_are_made, tmp_dir_make, tmp_dir_remove),
		cmocka_unit_test_setup_teardown(test_all_is_said_at_once, tmp_dir_make, tmp_dir_remove),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
