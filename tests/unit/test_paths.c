#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include <unistd.h>

#include "lib/cleanup.h"
#include "lib/sock.h"
#include "limactl-c/store/paths.h"
#include "tests/unit/tmp_dir.h"

static void test_every_file_has_a_name(void **state)
{
	auto_free char *path = path_in("/d", PATH_HA_SOCK);

	(void)state;
	for (int i = 0; i < PATH_COUNT; i++)
		assert_non_null(path_file((enum path_name)i));
	assert_string_equal(path, "/d/ha.sock");
}

static void test_home(void **state)
{
	auto_free char *real = realpath(*state, NULL), *link = xasprintf("%s/link", (char *)*state);
	auto_free char *home = NULL, *resolved = NULL, *from_home = NULL, *expected = xasprintf("%s/.lima", real);
	struct err e = { 0 };

	setenv("LIMA_HOME", "/no/such/folder", 1);
	home = paths_home(&e);
	assert_string_equal(home, "/no/such/folder");
	assert_int_equal(symlink(*state, link), 0);
	setenv("LIMA_HOME", link, 1);
	resolved = paths_home(&e);
	assert_string_equal(resolved, real);
	unsetenv("LIMA_HOME");
	setenv("HOME", real, 1);
	from_home = paths_home(&e);
	assert_string_equal(from_home, expected);
}

static void test_relative_home_becomes_absolute(void **state)
{
	auto_free char *home = NULL, *expected = xasprintf("%s/below", (char *)*state);
	struct err e = { 0 };

	assert_int_equal(chdir(*state), 0);
	setenv("LIMA_HOME", "below", 1);
	home = paths_home(&e);
	assert_string_equal(home, expected);
	assert_int_equal(chdir("/"), 0);
}

static void test_cached(void **state)
{
	static const char *const bad[] = { "cache:", "cache:../x", "cache:a/b", "cache:.x" };
	auto_free char *names = xasprintf("%s/limactl-c/names", (char *)*state), *file = xasprintf("%s/img", names);
	auto_free char *found = NULL, *plain = NULL;
	struct err e = { 0 };

	setenv("XDG_CACHE_HOME", *state, 1);
	assert_int_equal(fs_mkdirs(names, 0700, &e), 0);
	assert_int_equal(fs_write_atomic(file, "x", 1, 0600, &e), 0);
	found = paths_cached("cache:img", &e);
	assert_string_equal(found, file);
	plain = paths_cached("/a/b.img", &e);
	assert_string_equal(plain, "/a/b.img");
	assert_null(paths_cached("cache:none", &e));
	assert_int_equal(e.kind, ERR_NOTFOUND);
	assert_non_null(strstr(e.msg, "make image"));
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		assert_null(paths_cached(bad[i], &e));
		assert_int_equal(e.kind, ERR_INVALID);
	}
}

/* The longest name that fits, and one byte more. */
static void test_socket_length(void **state)
{
	size_t fits = SOCK_PATH_MAX - strlen("/ssh.sock.1234567890123456");
	char dir[200], number[32];
	struct err e = { 0 };

	(void)state;
	memset(dir, 'd', sizeof(dir));
	dir[0] = '/';
	dir[fits] = '\0';
	assert_int_equal(paths_check_dir(dir, &e), 0);
	dir[fits] = 'd';
	dir[fits + 1] = '\0';
	assert_int_equal(paths_check_dir(dir, &e), -1);
	snprintf(number, sizeof(number), "%zu bytes", SOCK_PATH_MAX + 1);
	assert_non_null(strstr(e.msg, number));
}

#define T(fn) cmocka_unit_test_setup_teardown(fn, tmp_dir_make, tmp_dir_remove)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_file_has_a_name),
		T(test_home),
		T(test_relative_home_becomes_absolute),
		T(test_cached),
		cmocka_unit_test(test_socket_length),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
