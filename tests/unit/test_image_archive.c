/* Archives and packed files as an enemy would make them: only a regular file comes out, to the one place that was asked for. */
#include "tests/unit/image_util.h"

#include <archive.h>
#include <archive_entry.h>
#include <zlib.h>

#include "lib/buf.h"
#include "lib/io.h"
#include "lib/le.h"

enum { FILE_MAX = 1 << 20 };

struct bytes {
	unsigned char p[FILE_MAX];
	size_t n;
};

static struct bytes file; /* the archive being made */

/* --- archives with one entry "x" that is not what it should be --- */

static void add_zip(struct archive *a, const char *path, mode_t mode, const char *target)
{
	struct archive_entry *entry = archive_entry_new();

	archive_entry_set_pathname(entry, path);
	archive_entry_set_mode(entry, mode);
	if (target)
		archive_entry_set_symlink(entry, target);
	archive_entry_set_size(entry, S_ISREG(mode) ? 5 : 0);
	assert_int_equal(archive_write_header(a, entry), ARCHIVE_OK);
	if (S_ISREG(mode))
		assert_int_equal(archive_write_data(a, "bytes", 5), 5);
	archive_entry_free(entry);
}

static char *make_zip(const char *path, mode_t mode, const char *target)
{
	struct archive *a = archive_write_new();

	assert_int_equal(archive_write_set_format_zip(a), ARCHIVE_OK);
	assert_int_equal(archive_write_open_memory(a, file.p, FILE_MAX, &file.n), ARCHIVE_OK);
	add_zip(a, path, mode, target);
	assert_int_equal(archive_write_close(a), ARCHIVE_OK);
	archive_write_free(a);
	return put("x.zip", file.p, file.n);
}

/* A volume of ours; its files are "x" and a loader's configuration that names it. */
static char *make_iso(void)
{
	static const char cfg[] = "menuentry a {\nlinux /x quiet\ninitrd /x\n}\n";
	auto_free char *x = put_text("x", "bytes"), *grub = put_text("grub.cfg", cfg);
	auto_free char *text = xasprintf("644 boot/grub/grub.cfg %s\n644 x %s\n", grub, x), *list = put_text("list", text);
	auto_buf iso = BUF_INIT(FILE_MAX);
	char *path = at("x.iso"), said[1024];
	struct err e = { 0 };

	assert_int_equal(RUN(command_seed, said, &e, "--label", "X", "--out", path, "--list", list), 0);
	assert_int_equal(io_read_file(path, &iso, &e), 0);
	memcpy(file.p, iso.data, iso.len);
	file.n = iso.len;
	return path;
}

/* Replaces every from by to in the archive, which is written again. */
static void patch(const char *name, const void *from, const void *to, size_t n)
{
	unsigned found = 0;

	for (size_t i = 0; i + n <= file.n; i++) {
		if (memcmp(file.p + i, from, n))
			continue;
		memcpy(file.p + i, to, n);
		found++;
	}
	assert_int_not_equal(found, 0);
	free(put(name, file.p, file.n));
}

/* The type of a regular file, as Rock Ridge and as the central directory of a zip have it. */
static void patch_type(const char *name, bool iso, mode_t type)
{
	unsigned char from[8], to[8];

	for (int i = 0; i < 2; i++) {
		uint32_t mode = i ? type | 0644 : S_IFREG | 0644;
		unsigned char *p = i ? to : from;

		le32_put(p, iso ? mode : 0);
		for (int k = 0; iso && k < 4; k++)
			p[4 + k] = p[3 - k];
		if (!iso)
			le32_put(p, mode << 16);
	}
	patch(name, from, to, iso ? 8 : 4);
}

static void refused(const char *archive, const char *member, const char *why)
{
	auto_free char *out = at("out/x");
	struct err e = { 0 };
	char said[1024];

	if (RUN(command_extract, said, &e, archive, member, out) == 0)
		fail_msg("%s of %s came out", member, archive);
	if (!strstr(e.msg, why))
		fail_msg("%s of %s: %s", member, archive, e.msg);
	if (count_files("out"))
		fail_msg("%s of %s left something", member, archive);
}

static void boot_refused(const char *iso, const char *why)
{
	auto_free char *k = at("out/k"), *i = at("out/i");
	struct err e = { 0 };
	char said[1024];

	assert_int_equal(RUN(command_bootfiles, said, &e, iso, "--kernel", k, "--initrd", i), -1);
	if (!strstr(e.msg, why))
		fail_msg("%s", e.msg);
	assert_int_equal(count_files("out"), 0);
}

static void test_what_is_no_regular_file_does_not_come_out(void **state)
{
	static const mode_t types[] = { S_IFCHR, S_IFBLK, S_IFIFO, S_IFSOCK, S_IFDIR, S_IFLNK };
	auto_free char *secret = put_text("secret", "secret"), *zip = NULL;

	(void)state;
	for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++) {
		auto_free char *iso = make_iso();

		patch_type("x.iso", true, types[i]);
		refused(iso, "x", types[i] == S_IFDIR ? "x.iso" : "x is no regular file");
		/* The configuration itself is none any more. */
		boot_refused(iso, types[i] == S_IFDIR ? "x.iso" : "is no regular file");
		free(steal(&zip));
		zip = make_zip("x", S_IFREG | 0644, NULL);
		patch_type("x.zip", false, types[i]);
		if (types[i] != S_IFIFO) /* which libarchive takes for a regular file */
			refused(zip, "x", "x");
	}
	free(steal(&zip));
	zip = make_zip("x", S_IFLNK | 0777, secret);
	refused(zip, "x", "x is no regular file");
}

static void test_paths_that_lead_elsewhere(void **state)
{
	static const char *const bad[] = { "../x", "/x", "a/../../x", "./x", "a//x", "a/..", "" };
	static const char inside[] = "NM\6\1\0x", outside[] = "NM\6\1\0/";
	auto_free char *iso = make_iso(), *zip = NULL;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		refused(iso, bad[i], "is not a plain relative path");
		free(steal(&zip));
		zip = make_zip(*bad[i] ? bad[i] : "a", S_IFREG | 0644, NULL);
		refused(zip, bad[i], "is not a plain relative path");
		/* Nor does it stand for the plain one. */
		refused(zip, "x", "has no x");
	}
	/* A name with a slash, which only an enemy writes. */
	free(steal(&iso));
	iso = make_iso();
	patch("x.iso", inside, outside, 6);
	refused(iso, "x", "has no x");
	boot_refused(iso, "has no x");
}

/* --- gzip --- */

static size_t gzip(unsigned char *out, size_t room, const void *in, size_t n)
{
	z_stream z = { .next_in = (unsigned char *)(uintptr_t)in, .avail_in = (unsigned)n, .next_out = out,
		       .avail_out = (unsigned)room };

	assert_int_equal(deflateInit2(&z, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
	assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
	deflateEnd(&z);
	return room - z.avail_out;
}

static void gives(const char *want, size_t n)
{
	auto_free char *in = put("in.gz", file.p, file.n);
	auto_buf got = BUF_INIT(8 << 20);
	struct err e = { 0 };
	char out[1024];

	if (RUN(command_get, out, &e, in))
		fail_msg("%s", e.msg);
	assert_int_equal(io_read_file(out, &got, &e), 0);
	assert_int_equal(got.len, n);
	assert_memory_equal(got.data, want, n);
}

static void get_refused(const char *why)
{
	auto_free char *in = put("in.gz", file.p, file.n);
	struct err e = { 0 };
	char out[1024];

	assert_int_equal(RUN(command_get, out, &e, in), -1);
	if (!strstr(e.msg, why) || !strstr(e.msg, in))
		fail_msg("%s", e.msg);
	assert_int_equal(count_files("cache/limactl-c/tmp"), 0);
}

static void add_gzip(const char *text)
{
	file.n += gzip(file.p + file.n, FILE_MAX - file.n, text, strlen(text));
}

static void test_gzip_of_several_members_and_what_lies_behind(void **state)
{
	(void)state;
	file.n = 0;
	add_gzip("one, ");
	add_gzip("");
	add_gzip("two");
	gives("one, two", 8);
	memset(file.p + file.n, 0, 100000);
	file.n += 100000;
	gives("one, two", 8);
	file.p[file.n++] = 'x';
	get_refused("there is something behind its end");
	file.n = 0;
	add_gzip("one, ");
	add_gzip("two");
	file.p[file.n - 1] ^= 1;
	get_refused("damaged gzip data (incorrect length check)");
	file.p[file.n - 1] ^= 1;
	file.p[file.n - 5] ^= 1;
	get_refused("damaged gzip data (incorrect data check)");
	file.p[file.n-- - 5] ^= 1;
	get_refused("truncated gzip data");
	file.n = 0;
	add_gzip("");
	get_refused("is empty");
	memcpy(file.p, "\x1f\x8b", 2);
	file.n = 2;
	get_refused("truncated gzip data");
}

/* Much more comes out than goes in, at every turn. */
static void test_gzip_larger_than_its_buffers(void **state)
{
	enum { SIZE = 5 << 20 };
	auto_free char *plain = xcalloc(1, SIZE);

	(void)state;
	for (size_t i = 0; i < 100; i++)
		plain[i * 52427] = (char)i;
	file.n = gzip(file.p, FILE_MAX, plain, SIZE);
	gives(plain, SIZE);
	file.n -= 9;
	get_refused("truncated gzip data");
}

static int begin(void **state)
{
	auto_free char *out = NULL;
	struct err e;

	if (make_dir(state) < 0)
		return -1;
	out = at("out");
	return fs_mkdir(out, 0700, &e);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_is_no_regular_file_does_not_come_out),
		cmocka_unit_test(test_paths_that_lead_elsewhere),
		cmocka_unit_test(test_gzip_of_several_members_and_what_lies_behind),
		cmocka_unit_test(test_gzip_larger_than_its_buffers),
	};

	return cmocka_run_group_tests_name("image_archive", tests, begin, remove_dir);
}
