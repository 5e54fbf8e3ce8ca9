/* The guest's extra disks: found by serial number, never formatted when anything is on them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include "guestagent/setup_disks.h"
#include "lib/cleanup.h"
#include "lib/io.h"
#include "tests/unit/tmp_dir.h"

static void put_serial(const char *root, const char *device, const char *text)
{
	auto_free char *dir = xasprintf("%s/sys/block/%s", root, device), *file = xasprintf("%s/serial", dir);
	struct err e = { 0 };

	assert_int_equal(fs_mkdirs(dir, 0755, &e), 0);
	assert_int_equal(fs_write_atomic(file, text, strlen(text), 0644, &e), 0);
}

static void test_found_by_serial(void **state)
{
	static const struct settings none;
	const struct setup su = { &none, *state };
	char device[64];

	put_serial(*state, "vda", "");
	put_serial(*state, "vdb", "lima-data2");
	put_serial(*state, "vdc", "lima-data\n");
	put_serial(*state, "vdd", "a serial number that is much longer than any such number may be, and more");
	assert_true(disks_find(&su, "lima-data", device));
	assert_string_equal(device, "vdc");
	assert_false(disks_find(&su, "lima-dat", device));
}

static void test_labels_fit(void **state)
{
	static const struct {
		const char *name, *type, *label;
	} rows[] = {
		{ "data", "ext4", "lima-data" },
		{ "a-name-that-is-long", "ext4", "lima-a-name-that" },
		{ "a-name-that-is-long", "xfs", "lima-a-name-" },
		{ "a-name-that-is-long", "swap", "lima-a-name-tha" },
		{ "a-name-that-is-long", "btrfs", "lima-a-name-that-is-long" },
	};
	char label[128];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		disks_label(rows[i].name, rows[i].type, label);
		assert_string_equal(label, rows[i].label);
	}
}

/* A byte anywhere in the first or last MiB is somebody's. */
static void test_blank(void **state)
{
	static const off_t at[] = { 0, 1080, 65536 + 64, (1 << 20) - 1, (8 << 20) - 512, (8 << 20) - 1 };
	auto_free char *path = xasprintf("%s/disk", (char *)*state);
	struct err e = { 0 };

	assert_int_equal(disks_is_blank(path, &e), -1);
	for (size_t i = 0; i <= sizeof(at) / sizeof(at[0]); i++) {
		int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);

		assert_int_equal(ftruncate(fd, 8 << 20), 0);
		if (i)
			assert_int_equal(pwrite(fd, "x", 1, at[i - 1]), 1);
		close(fd);
		assert_int_equal(disks_is_blank(path, &e), i == 0);
	}
	assert_int_equal(truncate(path, 100), 0); /* smaller than what is looked at */
	assert_int_equal(disks_is_blank(path, &e), 1);
}

/* As systemd-udevd asks before it looks at a disk. */
static bool may_be_looked_at(const char *path)
{
	auto_close int fd = open(path, O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	return flock(fd, LOCK_SH | LOCK_NB) == 0;
}

static void test_a_held_disk_is_left_alone(void **state)
{
	auto_free char *path = xasprintf("%s/disk", (char *)*state);
	struct err e = { 0 };
	int held;

	assert_int_equal(disks_hold(path), -1);
	assert_int_equal(fs_write_atomic(path, "x", 1, 0644, &e), 0);
	assert_true(may_be_looked_at(path));
	held = disks_hold(path);
	assert_true(held >= 0);
	assert_false(may_be_looked_at(path));
	close(held);
	assert_true(may_be_looked_at(path));
}

static void test_args(void **state)
{
	char args[] = "-i\nsize=512\n-q";
	const char *out[2];

	(void)state;
	assert_int_equal(disks_split(args, out, 2), 2);
	assert_string_equal(out[0], "-i");
	assert_string_equal(out[1], "size=512");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_found_by_serial, tmp_dir_make, tmp_dir_remove),
		cmocka_unit_test(test_labels_fit),
		cmocka_unit_test_setup_teardown(test_blank, tmp_dir_make, tmp_dir_remove),
		cmocka_unit_test_setup_teardown(test_a_held_disk_is_left_alone, tmp_dir_make, tmp_dir_remove),
		cmocka_unit_test(test_args),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
