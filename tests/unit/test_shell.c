/* What shell takes along: variables, and the folder it is called in. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <unistd.h>

#include "lib/cleanup.h"
#include "limactl-c/cli/shell_env.h"
#include "limactl-c/cli/workdir.h"
#include "tests/unit/tmp_dir.h"

static char *const env[] = {
	"A=1", "HOME=/root", "LD_PRELOAD=x", "LDX=2", "MY_ONE=a=b", "MY_TWO=", "PATH=/bin", "XDG_RUNTIME_DIR=/run", "_=x",
	"=odd", "odd", "http_proxy=http://x", "BASH=/bin/bash", NULL,
};

/* The names that are picked, separated by blanks; or the error. The caller's. */
static char *picked(const char *allow, const char *block)
{
	const char *out[32];
	struct err e = { 0 };
	ssize_t n = shell_env_pick(env, allow, block, out, 32, &e);
	char *text = xstrdup(n < 0 ? e.msg : "");

	for (ssize_t i = 0; i < n; i++) {
		char *longer = xasprintf("%s%s%.*s", text, i ? " " : "", (int)strcspn(out[i], "="), out[i]);

		free(text);
		text = longer;
	}
	return text;
}

static void test_variables(void **state)
{
	static const struct {
		const char *allow, *block, *picked;
	} rows[] = {
		{ NULL, NULL, "A LDX MY_ONE MY_TWO http_proxy" },
		{ "", "", "A LDX MY_ONE MY_TWO http_proxy" },
		{ "MY_*", NULL, "MY_ONE MY_TWO" },
		{ " A , PATH,,", NULL, "A PATH" },
		{ "*", "*", "A HOME LD_PRELOAD LDX MY_ONE MY_TWO PATH XDG_RUNTIME_DIR _ http_proxy BASH" },
		{ NULL, "*", "" },
		{ NULL, "A", "HOME LD_PRELOAD LDX MY_ONE MY_TWO PATH XDG_RUNTIME_DIR _ http_proxy BASH" },
		{ NULL, "+MY_*,a", "A LDX http_proxy" },
		{ NULL, "+", "A LDX MY_ONE MY_TWO http_proxy" },
		{ "M*_*O*", NULL, "MY_ONE MY_TWO" },
		{ NULL, "A;B", "LIMA_SHELLENV_BLOCK: pattern \"A;B\" has a character that names of variables do not have: ';'; "
			       "letters, digits, _ and * are possible" },
		{ "[A-Z]", NULL, "LIMA_SHELLENV_ALLOW: pattern \"[A-Z]\" has a character that names of variables do not have: '['; "
				 "letters, digits, _ and * are possible" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		auto_free char *names = picked(rows[i].allow, rows[i].block);

		assert_string_equal(names, rows[i].picked);
	}
}

static void test_too_many_variables(void **state)
{
	const char *out[2];
	struct err e = { 0 };

	(void)state;
	assert_int_equal(shell_env_pick(env, NULL, NULL, out, 2, &e), -1);
	assert_non_null(strstr(e.msg, "more than 2 variables would go to the guest"));
	assert_int_equal(shell_env_pick(env, "MY_*", NULL, out, 2, &e), 2);
}

static void test_folders(void **state)
{
	auto_free char *home = xasprintf("%s/home", *(char **)state), *link = xasprintf("%s/link", *(char **)state);
	auto_free char *inner = xasprintf("%s/home/in ner'", *(char **)state), *beside = xasprintf("%s/homes", *(char **)state);
	auto_free char *deep = xasprintf("%s/a \"b\"", inner);
	struct cfg_mount mounts[] = { { .location = link, .mount_point = "/mnt/home" },
				      { .location = inner, .mount_point = "/inner" } };
	struct cfg c = { .mount = mounts, .mounts = 2 };
	const struct {
		const char *dir, *there;
	} rows[] = {
		{ home, "/mnt/home" }, { inner, "/inner" }, { deep, "/inner/a \"b\"" }, { beside, beside }, { "/", "/" },
	};
	struct err e = { 0 };

	assert_int_equal(fs_mkdirs(inner, 0700, &e), 0);
	assert_int_equal(symlink(home, link), 0);
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		auto_free char *there = workdir_map(&c, rows[i].dir);

		assert_string_equal(there, rows[i].there);
	}
	c.mounts = 0;
	assert_null(workdir_map(&c, home));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_variables),
		cmocka_unit_test(test_too_many_variables),
		cmocka_unit_test_setup_teardown(test_folders, tmp_dir_make, tmp_dir_remove),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
