#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/buf.h"
#include "lib/io.h"
#include "limactl-c/base/copy.h"
#include "limactl-c/base/fs.h"
#include "tests/unit/tmp_dir.h"

static const char *at(void **state, const char *name)
{
	static char path[4][300];
	static int i;

	i = (i + 1) % 4;
	snprintf(path[i], sizeof(path[i]), "%s/%s", (const char *)*state, name);
	return path[i];
}

static void test_a_sparse_file_stays_sparse(void **state)
{
	static const off_t places[] = { 3 << 20, 200 << 20 };
	auto_buf text = BUF_INIT(64);
	struct err e = { 0 };
	struct stat st;
	char got[5] = "";
	int fd = open(at(state, "a"), O_RDWR | O_CREAT, 0640);

	assert_true(fd >= 0);
	for (size_t i = 0; i < 2; i++)
		assert_int_equal(pwrite(fd, "data", 4, places[i]), 4);
	assert_int_equal(ftruncate(fd, 300 << 20), 0);
	close(fd);
	assert_int_equal(copy_file(at(state, "a"), at(state, "b"), &e), 0);
	assert_int_equal(stat(at(state, "b"), &st), 0);
	assert_int_equal(st.st_size, 300 << 20);
	assert_true(st.st_blocks * 512 < 4 << 20);
	assert_int_equal(st.st_mode & 0777, 0640);
	fd = open(at(state, "b"), O_RDONLY);
	for (size_t i = 0; i < 2; i++) {
		assert_int_equal(pread(fd, got, 4, places[i]), 4);
		assert_string_equal(got, "data");
	}
	close(fd);
}

static void test_a_file_is_not_overwritten(void **state)
{
	struct err e = { 0 };

	assert_int_equal(fs_write_atomic(at(state, "a"), "1", 1, 0600, &e), 0);
	assert_int_equal(fs_write_atomic(at(state, "b"), "2", 1, 0600, &e), 0);
	assert_int_equal(copy_file(at(state, "a"), at(state, "b"), &e), -1);
	assert_int_equal(copy_file(at(state, "none"), at(state, "c"), &e), -1);
	assert_int_equal(access(at(state, "c"), F_OK), -1);
}

static enum copy_what all_but_b(const char *name)
{
	return !strcmp(name, "b") ? COPY_SKIP : !strcmp(name, "c") ? COPY_EMPTY : COPY_ALL;
}

static void test_tree(void **state)
{
	char target[20] = "";
	struct err e = { 0 };
	struct stat st;

	assert_int_equal(fs_mkdirs(at(state, "from/sub"), 0750, &e), 0);
	assert_int_equal(fs_mkdirs(at(state, "to"), 0700, &e), 0);
	assert_int_equal(fs_write_atomic(at(state, "from/sub/a"), "1", 1, 0600, &e), 0);
	assert_int_equal(fs_write_atomic(at(state, "from/sub/b"), "1", 1, 0600, &e), 0);
	assert_int_equal(fs_write_atomic(at(state, "from/c"), "1", 1, 0600, &e), 0);
	assert_int_equal(symlink("sub/a", at(state, "from/link")), 0);
	assert_int_equal(mkfifo(at(state, "from/pipe"), 0600), 0);
	assert_int_equal(copy_tree(at(state, "from"), at(state, "to"), all_but_b, &e), 0);
	assert_int_equal(access(at(state, "to/sub/a"), F_OK), 0);
	assert_int_equal(access(at(state, "to/sub/b"), F_OK), -1);
	assert_int_equal(access(at(state, "to/pipe"), F_OK), -1);
	assert_int_equal(stat(at(state, "to/c"), &st), 0);
	assert_int_equal(st.st_size, 0);
	assert_int_equal(stat(at(state, "to/sub"), &st), 0);
	assert_int_equal(st.st_mode & 0777, 0750);
	assert_int_equal(readlink(at(state, "to/link"), target, sizeof(target) - 1), 5);
	assert_string_equal(target, "sub/a");
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, tmp_dir_make, tmp_dir_remove)
	static const struct CMUnitTest tests[] = {
		T(test_a_sparse_file_stays_sparse),
		T(test_a_file_is_not_overwritten),
		T(test_tree),
	};

	return cmocka_run_group_tests_name("copy", tests, NULL, NULL);
}
