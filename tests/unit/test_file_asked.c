/* What a copy does about the other side's own will: names that were not asked for, an end that was not expected. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <sys/stat.h>

#include "tests/unit/file_copy.h"
#include "tests/unit/tmp_dir.h"

static struct script s;
static struct told told;
static struct err e;

/* -1: nothing is there. */
static long size_of(const char *path)
{
	struct stat st;

	return lstat(path, &st) < 0 ? -1 : (long)st.st_size;
}

/* Who is asked for one thing replaces nothing else in the folder. */
static void test_asked(void **state)
{
	static const struct {
		const char *path;
		bool recursive;
		enum fp_type type;
		const char *name;
		bool ok;
	} rows[] = {
		{ "/etc/hosts", false, FP_FILE, "hosts", true },
		{ "hosts", false, FP_FILE, "hosts", true },
		{ "hosts", false, FP_FILE, ".bashrc", false },
		{ "a/hosts", false, FP_FILE, "a", false },
		{ "hosts", true, FP_LINK, "hosts", false }, /* a link that is named is followed */
		{ "tree", true, FP_DIR, "tree", true },
		{ "/tree//", true, FP_DIR, "tree", true },
		{ "tree", false, FP_DIR, "tree", false },
		{ "tree", true, FP_DIR, "", false },
		{ ".", true, FP_DIR, "", true },
		{ "a/../", true, FP_DIR, "", true },
		{ "/", true, FP_DIR, "", true },
		{ "~", true, FP_DIR, "", true },
		{ "~/", true, FP_DIR, "", true },
		{ "~/tree", true, FP_DIR, "tree", true },
		{ ".", true, FP_DIR, ".ssh", false },
		{ "d/*.txt", false, FP_FILE, "a.txt", true },
		{ "d/*.txt", false, FP_FILE, "a.sh", false },
		{ "d/*", false, FP_FILE, ".bashrc", false }, /* nor does a pattern of the guest's find one */
		{ "d/.*", true, FP_DIR, "", true },
		{ "a[1]", false, FP_FILE, "a[1]", true },
		{ "a[1]", false, FP_FILE, "a1", true },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		const struct file_asked a = { &rows[i].path, 1, rows[i].recursive };

		if (file_asked_check(&a, rows[i].type, rows[i].name, &e) != (rows[i].ok ? 0 : -1))
			fail_msg("%s: %s", rows[i].path, rows[i].name);
	}
}

static void test_not_asked(void **state)
{
	static const char *const path[] = { "some/file", "tree" };
	const struct file_asked asked = { path, 2, true };

	(void)state;
	assert_int_equal(mkdir("d", 0755), 0);
	assert_int_equal(fs_write_atomic("d/.bashrc", "mine\n", 5, 0644, &e), 0);
	script_begin(&s);
	s.asked = &asked;
	script_evil(&s, "file");
	script_entry(&s, FP_DIR, "tree", "", 0);
	script_evil(&s, "any");
	fstream_put(&s.out, FP_LEAVE, NULL, 0, &e);
	script_evil(&s, ".bashrc");
	fstream_put(&s.out, FP_END, NULL, 0, &e);
	assert_int_equal(script_play(&s, "d", &told, &e), -1);
	assert_string_equal(e.msg, "the other side sends \".bashrc\", which it was not asked for");
	assert_int_equal(size_of("d/.bashrc"), 5);
	assert_int_equal(size_of("d/file"), 4);
	assert_int_equal(size_of("d/tree/any"), 4);

	script_begin(&s);
	s.asked = &asked;
	script_entry(&s, FP_LINK, "file", "/etc/passwd", 0);
	fstream_put(&s.out, FP_END, NULL, 0, &e);
	assert_int_equal(script_play(&s, "new", &told, &e), -1);
	assert_int_equal(size_of("new"), -1);
}

/* A receiver that has ended, its disk full, is asked what it has of the next file. */
static void test_receiver_has_ended(void **state)
{
	static const struct fstream_ops ops = { script_read, script_drop };
	struct file_watch watch = told_watch(&told);
	struct fstream stream;
	struct file_send fs = { .stream = &stream, .watch = &watch };

	(void)state;
	assert_int_equal(fs_write_atomic("big", "", 0, 0644, &e) | truncate("big", FILE_SEND_ASK), 0);
	told = (struct told){ 0 };
	script_begin(&s);
	fstream_put_problem(&s.out, "d/small: No space left on device", false, &e);
	fstream_flush(&s.out, &e);
	assert_int_equal(fstream_init(&stream, &ops, &s, &e), 0);
	assert_int_equal(file_send(&fs, "big", &e), -1);
	assert_string_equal(told.last, "d/small: No space left on device");
	assert_int_equal(told.problems, 1);
	assert_string_equal(e.msg, "the target ended the copy early");
	fstream_fini(&stream);
	fstream_fini(&s.out);
	buf_free(&s.bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_asked),
		cmocka_unit_test_setup_teardown(test_not_asked, tmp_dir_enter, tmp_dir_leave),
		cmocka_unit_test_setup_teardown(test_receiver_has_ended, tmp_dir_enter, tmp_dir_leave),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
