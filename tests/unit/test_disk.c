/* Extra disks as files: what a resize goes by, and what says that a disk is raw. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "limactl-c/base/fs.h"
#include "limactl-c/base/mem.h"
#include "limactl-c/store/disk.h"
#include "tests/unit/tmp_dir.h"

#define MIB (1ULL << 20)

static int make_home(void **state)
{
	return tmp_dir_make(state) < 0 ? -1 : setenv("LIMA_HOME", *state, 1);
}

/* A second look at the disk is older than the first one's resize. */
static void a_resize_goes_by_the_size_it_finds(void **state)
{
	auto_disk first = DISK_INIT, second = DISK_INIT, now = DISK_INIT;
	struct err e = { 0 };

	(void)state;
	assert_int_equal(disk_create("two", MIB, "raw", &e), 0);
	assert_int_equal(disk_open("two", &first, &e), 0);
	assert_int_equal(disk_open("two", &second, &e), 0);
	assert_int_equal(disk_resize(&first, 8 * MIB, &e), 0);
	assert_int_equal(disk_resize(&second, 2 * MIB, &e), -1);
	assert_string_equal(e.msg, "disk \"two\" cannot be made smaller: it has 8MiB, 2MiB are asked for");
	assert_int_equal(disk_open("two", &now, &e), 0);
	assert_int_equal(now.size, 8 * MIB);
}

/* A note that is there but cannot be read might say that the disk is raw: its bytes are the guest's then. */
static void only_a_missing_note_makes_the_bytes_tell(void **state)
{
	auto_free char *note = xasprintf("%s/_disks/noted/format", (char *)*state);
	auto_disk d = DISK_INIT;
	struct err e = { 0 };

	assert_int_equal(disk_create("noted", MIB, "raw", &e), 0);
	assert_int_equal(unlink(note), 0);
	assert_int_equal(disk_open("noted", &d, &e), 0);
	disk_fini(&d);
	assert_int_equal(mkdir(note, 0700), 0);
	assert_int_equal(disk_open("noted", &d, &e), -1);
	assert_non_null(strstr(e.msg, note));
	assert_null(d.format);
}

static void who_uses_it_in_words(void **state)
{
	static const struct {
		const char *user, *words;
	} rows[] = { { "/home/a/.lima/one", "instance \"one\"" }, { "two", "instance \"two\"" }, { "", "another process" } };

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		auto_free char *words = disk_user_words(rows[i].user);

		assert_string_equal(words, rows[i].words);
	}
	assert_null(disk_user_words(NULL));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_resize_goes_by_the_size_it_finds),
		cmocka_unit_test(only_a_missing_note_makes_the_bytes_tell),
		cmocka_unit_test(who_uses_it_in_words),
	};

	return cmocka_run_group_tests_name("disk", tests, make_home, tmp_dir_remove);
}
