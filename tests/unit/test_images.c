/* Files of an instance that is there: its disk, larger when its plan says so; UEFI's variables, never made twice. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/buf.h"
#include "lib/io.h"
#include "limactl-c/base/mem.h"
#include "limactl-c/base/spawn.h"
#include "limactl-c/cli/images.h"
#include "tests/unit/tmp_dir.h"

enum { MIB = 1 << 20 };

static void qemu_img(const char *a, const char *b, const char *c, const char *d, struct buf *out)
{
	const char *argv[] = { "qemu-img", a, b, c, d, NULL };
	struct err e = { 0 };

	if (spawn_run(&(struct spawn){ .argv = argv }, out, &e) != 0)
		fail_msg("%s", e.msg);
}

static void is_size(const char *path, const char *bytes)
{
	auto_buf out = BUF_INIT(1 << 16);
	auto_free char *want = xasprintf("\"virtual-size\": %s,", bytes);

	qemu_img("info", "--output=json", path, NULL, &out);
	assert_non_null(strstr(out.data, want));
}

static void test_grow(void **state)
{
	auto_free char *path = xasprintf("%s/disk", (const char *)*state);
	struct plan_disk disk = { .path = path };
	struct plan former = { .disk = &disk, .disks = 1, .disk_size = 64 * MIB }, p = former;
	char base[] = "/base";
	auto_buf out = BUF_INIT(1 << 16);
	struct err e = { 0 };

	p.disk_base = base;
	p.disk_size = 128 * MIB;
	/* None is there yet: it will be made as large as it should be. */
	assert_int_equal(images_grow(&p, &former, &e), 0);
	qemu_img("create", "-fqcow2", path, "64M", &out);
	assert_int_equal(images_grow(&p, &(struct plan){ 0 }, &e), 0);
	assert_int_equal(images_grow(&former, &former, &e), 0);
	is_size(path, "67108864");
	assert_int_equal(images_grow(&p, &former, &e), 0);
	is_size(path, "134217728");
}

static void test_what_cannot_grow(void **state)
{
	auto_free char *path = xasprintf("%s/disk", (const char *)*state);
	struct plan_disk disk = { .path = path };
	struct plan former = { .disk = &disk, .disks = 1, .disk_size = 64 * MIB }, p = former;
	char base[] = "/base";
	struct err e = { 0 };

	p.disk_base = base;
	p.disk_size = 128 * MIB;
	assert_int_equal(fs_write_atomic(path, "no image", 8, 0600, &e), 0);
	assert_int_equal(images_grow(&p, &former, &e), -1);
	assert_non_null(strstr(e.msg, "cannot make the disk larger: "));
}

static void has_bytes(const char *path, const char *want)
{
	auto_buf got = BUF_INIT(100);
	struct err e = { 0 };
	struct stat st;

	assert_int_equal(io_read_file(path, &got, &e), 0);
	assert_string_equal(got.data, want);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
}

/* Made of the template once; what UEFI has written there since stays, whatever the template says by now. */
static void test_variables_are_made_once(void **state)
{
	auto_free char *vars = xasprintf("%s/efi-vars.fd", (const char *)*state);
	auto_free char *from = xasprintf("%s/template", (const char *)*state);
	struct plan p = { .dir = *state, .vars = vars, .vars_template = from };
	struct err e = { 0 };

	assert_int_equal(fs_write_atomic(from, "empty", 5, 0444, &e), 0);
	if (images_prepare(&p, &e) < 0)
		fail_msg("%s", e.msg);
	has_bytes(vars, "empty");
	assert_int_equal(fs_write_atomic(vars, "boot order", 10, 0600, &e), 0);
	assert_int_equal(images_prepare(&p, &e), 0);
	has_bytes(vars, "boot order");
}

static void test_an_empty_store_of_variables(void **state)
{
	auto_free char *vars = xasprintf("%s/efi-vars.fd", (const char *)*state);
	struct plan p = { .dir = *state, .vars = vars };
	struct err e = { 0 };
	struct stat st;

	assert_int_equal(images_prepare(&p, &e), 0);
	assert_int_equal(stat(vars, &st), 0);
	assert_int_equal(st.st_size, 64 * MIB);
	assert_int_equal(st.st_mode & 07777, 0600);
}

static void test_a_template_that_is_gone(void **state)
{
	auto_free char *vars = xasprintf("%s/efi-vars.fd", (const char *)*state);
	char from[] = "/nowhere/VARS.fd";
	struct plan p = { .dir = *state, .vars = vars, .vars_template = from };
	struct err e = { 0 };

	assert_int_equal(images_prepare(&p, &e), -1);
	assert_non_null(strstr(e.msg, from));
	assert_int_equal(access(vars, F_OK), -1);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, tmp_dir_make, tmp_dir_remove)
	static const struct CMUnitTest tests[] = {
		T(test_grow),
		T(test_what_cannot_grow),
		T(test_variables_are_made_once),
		T(test_an_empty_store_of_variables),
		T(test_a_template_that_is_gone),
	};

	return cmocka_run_group_tests_name("images", tests, NULL, NULL);
}
