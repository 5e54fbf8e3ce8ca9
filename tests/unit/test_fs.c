#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include <errno.h>
#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/buf.h"
#include "lib/cleanup.h"
#include "lib/io.h"
#include "tests/unit/tmp_dir.h"

static char *text_of(const char *path)
{
	struct buf b = BUF_INIT(1 << 20);
	struct err e = { 0 };

	if (io_read_file(path, &b, &e) < 0)
		return xstrdup("");
	return b.data ? b.data : xstrdup("");
}

static size_t entries(const char *dir)
{
	DIR *d = opendir(dir);
	size_t n = 0;

	while (readdir(d))
		n++;
	closedir(d);
	return n - 2;
}

static void write_text(const char *path, const char *text)
{
	struct err e = { 0 };

	assert_int_equal(fs_write_atomic(path, text, strlen(text), 0600, &e), 0);
}

static void test_mkdirs(void **state)
{
	auto_free char *deep = xasprintf("%s/a/b/c", (char *)*state), *a = xasprintf("%s/a", (char *)*state);
	auto_free char *file = xasprintf("%s/file", (char *)*state), *below = xasprintf("%s/file/x", (char *)*state);
	struct err e = { 0 };
	struct stat st;

	assert_int_equal(fs_mkdirs(deep, 0700, &e), 0);
	assert_int_equal(stat(deep, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0700);
	assert_int_equal(chmod(a, 0750), 0);
	assert_int_equal(fs_mkdirs(deep, 0700, &e), 0);
	assert_int_equal(stat(a, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0750);
	write_text(file, "x");
	assert_int_equal(fs_mkdirs(file, 0700, &e), -1);
	assert_int_equal(e.kind, ERR_EXISTS);
	assert_int_equal(fs_mkdirs(below, 0700, &e), -1);
}

static void test_write_atomic(void **state)
{
	auto_free char *path = xasprintf("%s/f", (char *)*state), *text = NULL, *none = NULL;
	struct err e = { 0 };
	struct stat st;

	write_text(path, "old and long");
	assert_int_equal(fs_write_atomic(path, "new", 3, 0444, &e), 0);
	text = text_of(path);
	assert_string_equal(text, "new");
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0444);
	assert_int_equal(entries(*state), 1);
	none = xasprintf("%s/none/f", (char *)*state);
	assert_int_equal(fs_write_atomic(none, "x", 1, 0600, &e), -1);
	assert_int_equal(e.errnum, ENOENT);
}

/* A folder in the way: the write fails, and no temporary file stays. */
static void test_write_atomic_cleans_up(void **state)
{
	auto_free char *dir = xasprintf("%s/d/x", (char *)*state), *path = xasprintf("%s/d", (char *)*state);
	struct err e = { 0 };

	assert_int_equal(fs_mkdirs(dir, 0700, &e), 0);
	assert_int_equal(fs_write_atomic(path, "x", 1, 0600, &e), -1);
	assert_int_equal(entries(*state), 1);
}

/* A full disk has one sentence, whoever writes; who asks still sees which it was. */
static void test_a_full_disk_is_named(void **state)
{
	static const struct {
		int errnum;
		const char *msg;
	} rows[] = {
		{ ENOSPC, "no free disk space for /x" },
		{ EDQUOT, "no free disk space for /x" },
		{ EACCES, "cannot write /x: Permission denied" },
	};
	struct err e;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		errno = rows[i].errnum;
		assert_int_equal(fs_write_error("/x", &e), -1);
		assert_string_equal(e.msg, rows[i].msg);
		assert_int_equal(e.kind, ERR_SYS);
		assert_int_equal(e.errnum, rows[i].errnum);
	}
}

/* What another program said of it: in words only. */
static void test_a_full_disk_is_named_by_others(void **state)
{
	static const int full[] = { ENOSPC, EDQUOT };
	struct err e;

	(void)state;
	for (size_t i = 0; i < sizeof(full) / sizeof(*full); i++) {
		err_set(&e, ERR_SYS, "qemu-img: /x: %s", strerror(full[i]));
		assert_int_equal(fs_told_full("/x", &e), -1);
		assert_string_equal(e.msg, "no free disk space for /x");
		assert_int_equal(e.errnum, full[i]);
	}
	err_set(&e, ERR_SYS, "qemu-img: /x: %s", strerror(EACCES));
	assert_int_equal(fs_told_full("/x", &e), -1);
	assert_non_null(strstr(e.msg, "qemu-img"));
}

static void test_remove_tree(void **state)
{
	auto_free char *dir = xasprintf("%s/t/a/b", (char *)*state), *top = xasprintf("%s/t", (char *)*state);
	auto_free char *link = xasprintf("%s/t/link", (char *)*state), *kept = xasprintf("%s/kept", (char *)*state);
	auto_free char *below = xasprintf("%s/kept/f", (char *)*state);
	struct err e = { 0 };

	assert_int_equal(fs_mkdirs(dir, 0700, &e), 0);
	assert_int_equal(fs_mkdirs(kept, 0700, &e), 0);
	write_text(below, "x");
	assert_int_equal(symlink(kept, link), 0);
	assert_int_equal(fs_remove_tree(top, &e), 0);
	assert_false(fs_exists(top));
	assert_true(fs_exists(below));
	assert_int_equal(fs_remove_tree(top, &e), 0);
}

static void test_tail(void **state)
{
	static const struct {
		const char *text;
		size_t lines, bytes;
		const char *tail;
	} rows[] = {
		{ "one\ntwo\nthree\n", 2, 100, "two\nthree" },
		{ "one\ntwo\nthree", 1, 100, "three" },
		{ "one\n\n\n", 5, 100, "one" },
		{ "one\ntwo\nthree\n", 5, 8, "o\nthree" },
		{ "\n", 5, 100, "" },
		{ "", 5, 100, "" },
	};
	auto_free char *path = xasprintf("%s/f", (char *)*state), *none = xasprintf("%s/none", (char *)*state);

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		auto_free char *tail = NULL;

		write_text(path, rows[i].text);
		tail = fs_tail(path, rows[i].lines, rows[i].bytes);
		assert_string_equal(tail, rows[i].tail);
	}
	auto_free char *empty = fs_tail(none, 1, 1);
	assert_string_equal(empty, "");
}

static void test_rotate(void **state)
{
	auto_free char *path = xasprintf("%s/log", (char *)*state), *old = xasprintf("%s/log.1", (char *)*state);

	fs_rotate(path, 3);
	write_text(path, "123");
	fs_rotate(path, 3);
	assert_true(fs_exists(path));
	write_text(path, "1234");
	fs_rotate(path, 3);
	assert_false(fs_exists(path));
	assert_true(fs_exists(old));
}

static void test_free_space(void **state)
{
	auto_free char *below = xasprintf("%s/not/there", (char *)*state);
	unsigned long long here, there;
	struct err e = { 0 };

	assert_int_equal(fs_free_space(*state, &here, &e), 0);
	assert_int_equal(fs_free_space(below, &there, &e), 0);
	assert_true(here > 0 && there > 0);
}

#define T(fn) cmocka_unit_test_setup_teardown(fn, tmp_dir_make, tmp_dir_remove)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_mkdirs), T(test_write_atomic), T(test_write_atomic_cleans_up), T(test_a_full_disk_is_named), T(test_remove_tree),
		T(test_tail),   T(test_rotate),       T(test_free_space),         T(test_a_full_disk_is_named_by_others),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
