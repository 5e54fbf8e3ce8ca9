/* The seed volume, read back by another reader. */
#include "tests/unit/image_util.h"

#include <archive.h>
#include <archive_entry.h>
#include <time.h>

#include "lib/io.h"

DEFINE_CLEANUP(struct archive *, archive_read_free)

static int write_seed(const char *list_text, const char *out, struct err *e)
{
	auto_free char *list = put_text("list", list_text), *path = at(out);
	char said[1024];

	return RUN(command_seed, said, e, "--label", "cidata", "--out", path, "--list", list);
}

static void read_whole(const char *name, struct buf *b)
{
	auto_free char *path = at(name);
	struct err e;

	assert_int_equal(io_read_file(path, b, &e), 0);
}

/* Entry by path; its content in b when given. */
static mode_t find(const char *iso, const char *name, struct buf *b)
{
	CLEANUP(archive_read_freep) struct archive *a = archive_read_new();
	auto_free char *path = at(iso);
	struct archive_entry *entry;

	archive_read_support_format_iso9660(a);
	assert_int_equal(archive_read_open_filename(a, path, 10240), ARCHIVE_OK);
	while (archive_read_next_header(a, &entry) == ARCHIVE_OK) {
		const void *p;
		size_t n;
		la_int64_t offset;

		if (strcmp(archive_entry_pathname(entry), name))
			continue;
		while (b && archive_read_data_block(a, &p, &n, &offset) == ARCHIVE_OK)
			assert_int_equal(buf_add(b, p, n), 0);
		return archive_entry_mode(entry);
	}
	return 0;
}

static void test_files_come_back_with_names_modes_and_bytes(void **state)
{
	auto_free char *a = put_text("a", "hello\n"), *large = NULL, *empty = put_text("empty", "");
	auto_free char *bytes = xmalloc(300001), *list = NULL;
	auto_buf got = BUF_INIT(1 << 20);
	struct err e = { 0 };

	(void)state;
	for (size_t i = 0; i < 300001; i++)
		bytes[i] = (char)(i * 7 + i / 251);
	large = put("large", bytes, 300001);
	list = xasprintf("644 user-data %s\n755 boot.Linux/00-check.sh %s\n600 a/b/c/Some_Long-Name.that.is-not.8.3.yaml %s\n"
			 "644 a/empty %s\n", a, large, a, empty);
	if (write_seed(list, "s.iso", &e))
		fail_msg("%s", e.msg);
	assert_int_equal(find("s.iso", "user-data", &got), S_IFREG | 0644);
	assert_string_equal(got.data, "hello\n");
	buf_drop_front(&got, got.len);
	assert_int_equal(find("s.iso", "boot.Linux/00-check.sh", &got), S_IFREG | 0755);
	assert_int_equal(got.len, 300001);
	assert_memory_equal(got.data, bytes, got.len);
	assert_int_equal(find("s.iso", "a/b/c/Some_Long-Name.that.is-not.8.3.yaml", NULL), S_IFREG | 0600);
	assert_int_equal(find("s.iso", "a/empty", NULL), S_IFREG | 0644);
	assert_int_equal(find("s.iso", "a/b", NULL), S_IFDIR | 0755);
}

/* cloud-init goes by the label, in lower case. The file is its owner's, and nothing says when or where it was made. */
static void test_label_mode_and_nothing_of_the_builder(void **state)
{
	auto_free char *a = put_text("a", "x"), *list = xasprintf("644 meta-data %s\n", a), *path = at("s.iso");
	auto_buf first = BUF_INIT(1 << 20), second = BUF_INIT(1 << 20);
	time_t now = time(NULL);
	struct err e = { 0 };
	struct stat st;
	char host[256], year[8];
	struct tm tm;

	(void)state;
	assert_int_equal(write_seed(list, "s.iso", &e), 0);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	read_whole("s.iso", &first);
	assert_memory_equal(first.data + 16 * 2048 + 40, "cidata                          ", 32);
	while (time(NULL) == now)
		usleep(10000);
	assert_int_equal(write_seed(list, "s.iso", &e), 0);
	read_whole("s.iso", &second);
	assert_int_equal(first.len, second.len);
	assert_memory_equal(first.data, second.data, first.len);
	assert_int_equal(gethostname(host, sizeof(host)), 0);
	assert_int_equal(strftime(year, sizeof(year), "%Y", gmtime_r(&now, &tm)), 4);
	assert_null(memmem(first.data, first.len, host, strlen(host)));
	assert_null(memmem(first.data, first.len, year, 4));
}

/* Folders of more than one sector, path tables of more than one. */
static void test_hundreds_of_files_and_folders(void **state)
{
	auto_free char *a = put_text("a", "x");
	auto_buf list = BUF_INIT(1 << 20);
	struct err e = { 0 };

	(void)state;
	for (int i = 0; i < 300; i++) {
		assert_int_equal(buf_addf(&list, "644 many/a-name-of-some-length-%03d %s\n", i, a), 0);
		assert_int_equal(buf_addf(&list, "644 d%03d/f %s\n", i, a), 0);
	}
	if (write_seed(list.data, "s.iso", &e))
		fail_msg("%s", e.msg);
	for (int i = 0; i < 300; i += 23) {
		auto_free char *name = xasprintf("many/a-name-of-some-length-%03d", i), *other = xasprintf("d%03d/f", i);

		assert_int_equal(find("s.iso", name, NULL), S_IFREG | 0644);
		assert_int_equal(find("s.iso", other, NULL), S_IFREG | 0644);
	}
}

static void test_what_cannot_be_written_is_said(void **state)
{
	static const struct {
		const char *list, *what;
	} rows[] = {
		{ "644 a %s\n644 a %s\n", "names a again" },
		{ "644 a %s\n644 a/b %s\n", "a is listed twice" },
		{ "644 1/2/3/4/5/6/7/8 %s\n", "more than 7 folders deep" },
		{ "644 a %s.not-there\n", "cannot open" },
	};
	auto_free char *a = put_text("a", "x"), *out = at("bad.iso");

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		auto_buf list = BUF_INIT(10000);
		struct err e = { 0 };

		for (const char *p = rows[i].list; *p; p++)
			assert_int_equal(*p == '%' ? buf_adds(&list, a) : *p == 's' && p[-1] == '%' ? 0 : buf_add(&list, p, 1), 0);
		assert_int_equal(write_seed(list.data, "bad.iso", &e), -1);
		if (!strstr(e.msg, rows[i].what))
			fail_msg("%s: %s", rows[i].what, e.msg);
		assert_int_not_equal(access(out, F_OK), 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_files_come_back_with_names_modes_and_bytes),
		cmocka_unit_test(test_label_mode_and_nothing_of_the_builder),
		cmocka_unit_test(test_hundreds_of_files_and_folders),
		cmocka_unit_test(test_what_cannot_be_written_is_said),
	};

	return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
