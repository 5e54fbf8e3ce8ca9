#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "guestagent/mount_table.h"

/* A table with this text. */
static struct mount_table open_text(const char *text)
{
	char name[] = "/tmp/mount-table-XXXXXX";
	int fd = mkstemp(name);
	struct mount_table t;

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
	t = mount_table_open(name);
	unlink(name);
	assert_non_null(t.f);
	return t;
}

static void test_paths_are_what_they_were(void **state)
{
	auto_mount_table t = open_text("/dev/vda / ext4 rw,relatime 0 0\n"
				       "my\\040disk /a\\040b\\011c\\134d\\012e\\134040 fuse.sshfs ro 0 0\n"
				       "cut\n"
				       "none /\\04 tmpfs rw 0 0\n");
	struct mount_entry m;

	(void)state;
	assert_true(mount_table_next(&t, &m));
	assert_string_equal(m.source, "/dev/vda");
	assert_string_equal(m.path, "/");
	assert_string_equal(m.type, "ext4");
	assert_string_equal(m.options, "rw,relatime");
	assert_true(mount_table_next(&t, &m));
	assert_string_equal(m.source, "my disk");
	assert_string_equal(m.path, "/a b\tc\\d\ne\\040");
	assert_true(mount_table_next(&t, &m));
	assert_string_equal(m.path, "/\\04");
	assert_false(mount_table_next(&t, &m));
}

static void test_read_only_is_the_kernels_word(void **state)
{
	static const struct {
		const char *options;
		bool read_only;
	} rows[] = {
		{ "ro", true },
		{ "ro,relatime", true },
		{ "rw,errors=remount-ro", false },
		{ "rw,errors=continue", false },
		{ "root", false },
		{ "rw", false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_int_equal(mount_is_read_only(&(struct mount_entry){ .options = rows[i].options }), rows[i].read_only);
}

static void test_a_table_that_is_not_there_has_no_entries(void **state)
{
	auto_mount_table t = mount_table_open("/nonexistent");
	struct mount_entry m;

	(void)state;
	assert_false(mount_table_next(&t, &m));
}

static void test_the_machines_own(void **state)
{
	auto_mount_table t = mount_table_open(MOUNT_TABLE);
	struct mount_entry m;
	bool root = false;

	(void)state;
	while (mount_table_next(&t, &m))
		root |= !strcmp(m.path, "/");
	assert_true(root);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_paths_are_what_they_were),
		cmocka_unit_test(test_read_only_is_the_kernels_word),
		cmocka_unit_test(test_a_table_that_is_not_there_has_no_entries),
		cmocka_unit_test(test_the_machines_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
