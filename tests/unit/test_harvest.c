/* What a guest says of its kernel, and the folder that keeps it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka wants these first */
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "limactl-c/store/harvest.h"
#include "tests/unit/tmp_dir.h"

#define HEX "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define PATHS "/boot/vmlinuz-6.1\n/boot/initrd.img-6.1\n"

static int parse(const char *text, struct harvest_answer *a, struct err *e)
{
	*e = (struct err){ 0 };
	return harvest_parse(text, strlen(text), a, e);
}

static void test_words_of_the_loader_are_left_out(void **state)
{
	static const struct {
		const char *line, *args;
	} rows[] = {
		{ "BOOT_IMAGE=/vmlinuz root=LABEL=root ro quiet", "root=LABEL=root ro quiet" },
		{ "root=/dev/vda1", "root=/dev/vda1" },
		{ "  root=/dev/vda1  initrd=/initrd.img   console=ttyS0 ", "root=/dev/vda1 console=ttyS0" },
		{ "x=\"a  BOOT_IMAGE=b\" BOOT_IMAGE=\"a b\" root=UUID=1", "x=\"a  BOOT_IMAGE=b\" root=UUID=1" },
		{ "root=/dev/vda1 x=\"open ", "root=/dev/vda1 x=\"open " },
		/* Ours, which it says for us. */
		{ "BOOT_IMAGE=/vmlinuz root=/dev/vda1 lima.begin psi=1 nomodeset lima.end quiet", "root=/dev/vda1 quiet" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		auto_free char *text = xasprintf("%s\n" PATHS HEX "\n", rows[i].line);
		struct harvest_answer a;
		struct err e;

		assert_int_equal(parse(text, &a, &e), 0);
		assert_string_equal(a.args, rows[i].args);
		assert_string_equal(a.kernel, "/boot/vmlinuz-6.1");
		assert_string_equal(a.initrd, "/boot/initrd.img-6.1");
		assert_string_equal(a.boot, HEX);
	}
}

static void test_hostile_answers_are_refused(void **state)
{
	static const char *const rows[] = {
		"",
		"\n",
		"root=/dev/vda1\n",
		"root=/dev/vda1\n" PATHS HEX,              /* cut short */
		"root=/dev/vda1\n" PATHS HEX "0\n",
		"root=/dev/vda1\n" PATHS "0123\n",
		"root=/dev/vda1\n" PATHS HEX "\nmore\n",
		"root=/dev/vda1\nboot/vmlinuz\n/boot/initrd\n" HEX "\n",
		"root=/dev/vda1\n/boot/vmlinuz\n\n" HEX "\n",
		"root=/dev/vda1 \033[2J\n" PATHS HEX "\n",
		"root=/dev/vda1 \303\244\n" PATHS HEX "\n",
		"root=/dev/vda1\tro\n" PATHS HEX "\n",
	};
	auto_free char *huge = xcalloc(1, 5000);
	auto_free char *text = NULL;
	struct harvest_answer a;
	struct err e;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		assert_int_equal(parse(rows[i], &a, &e), -1);
		assert_string_equal(e.msg, "it says nothing of use about its kernel");
	}
	assert_int_equal(harvest_parse("root=/\0\n" PATHS HEX "\n", 8 + strlen(PATHS HEX "\n"), &a, &e), -1);
	memset(huge, 'x', HARVEST_ARGS_MAX);
	text = xasprintf("%s x\n" PATHS HEX "\n", huge);
	assert_int_equal(parse(text, &a, &e), -1);
	assert_int_equal(parse("ro quiet notroot=1\n" PATHS HEX "\n", &a, &e), -1);
	assert_string_equal(e.msg, "its loader names no root file system to its kernel");
}

static void test_digests(void **state)
{
	static const char good[] = HEX "  /boot/vmlinuz\n" HEX "  /boot/initrd\n";
	char d[2][SHA256_HEX + 1];
	struct err e = { 0 };

	(void)state;
	assert_int_equal(harvest_parse_digests(good, strlen(good), d, &e), 0);
	assert_string_equal(d[1], HEX);
	assert_int_equal(harvest_parse_digests(good, strlen(good) - 1, d, &e), -1);
	assert_int_equal(harvest_parse_digests("short\nshort\n", 12, d, &e), -1);
	assert_int_equal(harvest_parse_digests("", 0, d, &e), -1);
	assert_int_equal(harvest_parse_digests("X" HEX "\nX" HEX "\n", 132, d, &e), -1);
}

static void put(const char *dir, bool kernel, const char *text)
{
	auto_free char *path = harvest_new_file(dir, kernel);
	struct err e = { 0 };

	assert_int_equal(fs_write_atomic(path, text, strlen(text), 0600, &e), 0);
}

static void commit(const char *dir, const char *boot)
{
	struct harvest_answer a = { .args = "root=/dev/vda1 \"x\"" };
	char d[2][SHA256_HEX + 1] = { HEX, HEX };
	struct err e = { 0 };

	d[1][0] = 'f';
	snprintf(a.boot, sizeof(a.boot), "%s", boot);
	assert_int_equal(harvest_begin(dir, &e), 0);
	put(dir, true, "kernel");
	put(dir, false, "initrd");
	assert_int_equal(harvest_commit(dir, &a, d, &e), 0);
}

static void test_the_folder(void **state)
{
	const char *dir = *state;
	auto_free char *kernel = xasprintf("%s/harvest/kernel", dir), *fresh = xasprintf("%s/harvest.tmp", dir);
	struct harvest h;
	struct err e = { 0 };

	assert_int_equal(harvest_load(dir, &h, &e), -1);
	assert_int_equal(e.kind, ERR_NOTFOUND);
	harvest_mark(dir, HARVEST_TRIED, true); /* no folder: nothing happens */
	assert_false(harvest_marked(dir, HARVEST_TRIED));
	commit(dir, "one");
	assert_int_equal(harvest_load(dir, &h, &e), 0);
	assert_string_equal(h.kernel, kernel);
	assert_string_equal(h.kernel_sha256, HEX);
	assert_int_equal(h.initrd_sha256[0], 'f');
	assert_string_equal(h.args, "root=/dev/vda1 \"x\"");
	assert_string_equal(h.boot, "one");
	assert_true(fs_exists(h.initrd));
	harvest_free(&h);
	harvest_mark(dir, HARVEST_FAILED, true);
	assert_true(harvest_marked(dir, HARVEST_FAILED));
	assert_false(harvest_marked(dir, HARVEST_STALE));
	harvest_mark(dir, HARVEST_FAILED, false);
	assert_false(harvest_marked(dir, HARVEST_FAILED));
	harvest_mark(dir, HARVEST_FAILED, true);
	/* A new one has no marks; one that is given up leaves the old one. */
	commit(dir, "two");
	assert_false(harvest_marked(dir, HARVEST_FAILED));
	assert_int_equal(harvest_begin(dir, &e), 0);
	put(dir, true, "half");
	harvest_abandon(dir);
	assert_false(fs_exists(fresh));
	assert_int_equal(harvest_load(dir, &h, &e), 0);
	assert_string_equal(h.boot, "two");
	harvest_free(&h);
}

static void test_a_broken_record_is_an_error(void **state)
{
	auto_free char *record = xasprintf("%s/harvest/harvest.json", (const char *)*state);
	struct harvest h;
	struct err e = { 0 };

	commit(*state, "one");
	assert_int_equal(fs_write_atomic(record, "{\"kernel\": \"x\"}", 15, 0600, &e), 0);
	assert_int_equal(harvest_load(*state, &h, &e), -1);
	assert_int_not_equal(e.kind, ERR_NOTFOUND);
	assert_null(h.kernel_sha256);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_words_of_the_loader_are_left_out),
		cmocka_unit_test(test_hostile_answers_are_refused),
		cmocka_unit_test(test_digests),
		cmocka_unit_test_setup_teardown(test_the_folder, tmp_dir_make, tmp_dir_remove),
		cmocka_unit_test_setup_teardown(test_a_broken_record_is_an_error, tmp_dir_make, tmp_dir_remove),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
