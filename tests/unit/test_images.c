/* The disk of an instance that is there: larger when its plan says so, never touched else. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "lib/buf.h"
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

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, tmp_dir_make, tmp_dir_remove)
	static const struct CMUnitTest tests[] = { T(test_grow), T(test_what_cannot_grow) };

	return cmocka_run_group_tests_name("images", tests, NULL, NULL);
}
