/* The table of snapshots in a qcow2 image: what is in it, and that no byte of it leads beyond it. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "limactl-c/base/fs.h"
#include "limactl-c/base/mem.h"
#include "limactl-c/base/qcow2_snapshots.h"
#include "tests/unit/snapshot_table.h"

static void test_entries(void **state)
{
	unsigned char t[1000];
	struct qcow2_snapshots s;
	struct err e = { 0 };
	size_t n;

	(void)state;
	n = entry(t, "1", "before", 5ULL << 32, 24);
	n += entry(t + n, "22", "old", 123, 0);
	n += entry(t + n, "3", "", 0, 16);
	assert_int_equal(qcow2_snapshots_parse(t, n, 3, &s, &e), 0);
	assert_int_equal(s.count, 3);
	assert_string_equal(s.one[0].id, "1");
	assert_string_equal(s.one[0].tag, "before");
	assert_int_equal(s.one[0].memory, 5ULL << 32);
	assert_int_equal(s.one[0].disk_size, 1 << 30);
	assert_int_equal(s.one[0].date, 1700000000);
	assert_int_equal(s.one[0].clock, 61000000000);
	assert_int_equal(s.one[0].icount, 7);
	assert_string_equal(s.one[1].id, "22");
	assert_int_equal(s.one[1].memory, 123);
	assert_int_equal(s.one[1].disk_size, 0);
	assert_true(s.one[1].icount == QCOW2_NO_ICOUNT);
	assert_ptr_equal(qcow2_snapshot_find(&s, "old"), &s.one[1]);
	assert_null(qcow2_snapshot_find(&s, "22"));
	qcow2_snapshots_free(&s);
}

/* Cut at every byte, in memory that ends there. */
static void test_cut(void **state)
{
	unsigned char t[200];
	size_t first = entry(t, "1", "abcdefgh", 1, 24), n = first + entry(t + first, "2", "xyz", 1, 24);
	size_t needed = first + 40 + 24 + 1 + 3;
	struct qcow2_snapshots s;
	struct err e = { 0 };

	(void)state;
	for (size_t len = 0; len <= n; len++) {
		unsigned char *cut = xmalloc(len + 1);
		int rc;

		memcpy(cut, t, len);
		cut = xrealloc(cut, len ? len : 1);
		rc = qcow2_snapshots_parse(cut, len, 2, &s, &e);
		assert_int_equal(rc, len < needed ? -1 : 0);
		qcow2_snapshots_free(&s);
		free(cut);
	}
}

static void test_lies(void **state)
{
	unsigned char t[200];
	size_t n = entry(t, "1", "a", 1, 24);
	struct qcow2_snapshots s;
	struct err e = { 0 };

	(void)state;
	be(t + 36, UINT32_MAX, 4);
	assert_int_equal(qcow2_snapshots_parse(t, n, 1, &s, &e), -1);
	assert_int_equal(qcow2_snapshots_parse(t, n, SIZE_MAX, &s, &e), -1);
	assert_non_null(strstr(e.msg, "at most 1000"));
	assert_int_equal(qcow2_snapshots_parse(t, 0, 0, &s, &e), 0);
	assert_int_equal(s.count, 0);
}

static void test_files(void **state)
{
	char path[] = "/tmp/qcow2-snapshots-XXXXXX";
	unsigned char head[512] = "QFI\xfb";
	struct qcow2_snapshots s;
	struct err e = { 0 };
	int fd = mkstemp(path);

	(void)state;
	assert_true(fd >= 0);
	be(head + 24, 1 << 20, 8);
	be(head + 60, 1, 4);
	be(head + 64, 104, 8);
	entry(head + 104, "9", "tag", 0, 24);
	assert_int_equal(write(fd, head, sizeof(head)), sizeof(head));
	assert_int_equal(qcow2_snapshots_read(path, &s, &e), 0);
	assert_int_equal(s.size, 1 << 20);
	assert_string_equal(s.one[0].tag, "tag");
	qcow2_snapshots_free(&s);
	be(head + 64, UINT64_MAX, 8); /* a table beyond every file */
	assert_int_equal(pwrite(fd, head, 104, 0), 104);
	assert_int_equal(qcow2_snapshots_read(path, &s, &e), -1);
	assert_int_equal(ftruncate(fd, 71), 0);
	assert_int_equal(qcow2_snapshots_read(path, &s, &e), -1);
	assert_non_null(strstr(e.msg, "no qcow2 image"));
	close(fd);
	unlink(path);
	assert_int_equal(qcow2_snapshots_read(path, &s, &e), -1);
}

/* An image whose L1 table, of count entries, lies at 104 as far as the image goes. */
static void put_image(const char *path, size_t count, uint64_t first, size_t len)
{
	unsigned char image[1000] = "QFI\xfb";
	struct err e = { 0 };

	be(image + 24, 1 << 30, 8);
	be(image + 36, count, 4);
	be(image + 40, 104, 8);
	be(image + 104, first, 8);
	assert_int_equal(fs_write_atomic(path, image, len, 0600, &e), 0);
}

static void test_root(void **state)
{
	char path[] = "/tmp/qcow2-root-XXXXXX", was[SHA256_HEX + 1], now[SHA256_HEX + 1];
	struct err e = { 0 };

	(void)state;
	close(mkstemp(path));
	put_image(path, 2, 0x50000, 120);
	assert_int_equal(qcow2_root(path, was, &e), 0);
	put_image(path, 2, 0x50000 | 1ULL << 63, 200);
	assert_int_equal(qcow2_root(path, now, &e), 0);
	assert_string_equal(now, was);
	put_image(path, 2, 0x60000, 120);
	assert_int_equal(qcow2_root(path, now, &e), 0);
	assert_string_not_equal(now, was);
	put_image(path, 2, 0x50000, 119);
	assert_int_equal(qcow2_root(path, now, &e), -1);
	assert_non_null(strstr(e.msg, "ends within its L1 table"));
	put_image(path, UINT32_MAX, 0, 120);
	assert_int_equal(qcow2_root(path, now, &e), -1);
	put_image(path, 1, 0, 71);
	assert_int_equal(qcow2_root(path, now, &e), -1);
	assert_non_null(strstr(e.msg, "no qcow2 image"));
	unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_entries),
		cmocka_unit_test(test_cut),
		cmocka_unit_test(test_lies),
		cmocka_unit_test(test_files),
		cmocka_unit_test(test_root),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
