/* Files of every kind the image program reads, cut at many lengths and with bytes flipped: refused in one sentence, or read as
 * what they were; no crash, nothing half left behind, and an end in time and memory that a phone has. */
#include "tests/unit/image_util.h"

#include <archive.h>
#include <archive_entry.h>
#include <dirent.h>
#include <sys/resource.h>
#include <time.h>

#include "lib/buf.h"
#include "lib/io.h"
#include "lib/le.h"
#include "tests/unit/qcow2_build.h"

enum { PLAIN = 60000, CUTS = 120, FLIPS = 250, FILE_MAX = 1 << 20, CPU_SECONDS = 5, RSS_MAX_KIB = 512 << 10 };

static unsigned char plain[PLAIN]; /* what each file holds, somehow */

/* Half of it can be packed. */
static void make_plain(void)
{
	struct qb random = { .seed = 7 };

	qb_content(&random, plain, PLAIN / 2, true);
	qb_content(&random, plain + PLAIN / 2, PLAIN / 2, false);
}

/* --- one whole file of each kind --- */

static void add(struct archive *a, const char *path, const void *p, size_t n)
{
	struct archive_entry *entry = archive_entry_new();

	archive_entry_set_pathname(entry, path);
	archive_entry_set_mode(entry, S_IFREG | 0644);
	archive_entry_set_size(entry, (la_int64_t)n);
	assert_int_equal(archive_write_header(a, entry), ARCHIVE_OK);
	assert_int_equal(archive_write_data(a, p, n), n);
	archive_entry_free(entry);
}

static void finish(struct archive *a)
{
	assert_int_equal(archive_write_close(a), ARCHIVE_OK);
	archive_write_free(a);
}

static size_t pack(unsigned char *file, int (*filter)(struct archive *a))
{
	struct archive *a = archive_write_new();
	size_t used = 0;

	assert_int_equal(archive_write_set_format_raw(a), ARCHIVE_OK);
	assert_int_equal(filter(a), ARCHIVE_OK);
	archive_write_set_bytes_in_last_block(a, 1);
	assert_int_equal(archive_write_open_memory(a, file, FILE_MAX, &used), ARCHIVE_OK);
	add(a, "x", plain, PLAIN);
	finish(a);
	return used;
}

static size_t make_gz(unsigned char *file)
{
	return pack(file, archive_write_add_filter_gzip);
}

static size_t make_xz(unsigned char *file)
{
	return pack(file, archive_write_add_filter_xz);
}

static size_t make_bz2(unsigned char *file)
{
	return pack(file, archive_write_add_filter_bzip2);
}

static size_t make_zst(unsigned char *file)
{
	auto_free char *in = put("plain", plain, PLAIN), *out = at("packed.zst");
	auto_free char *command = xasprintf("zstd -q -f --check %s -o %s", in, out);
	auto_buf text = BUF_INIT(FILE_MAX);
	struct err e;

	/* libarchive writes none with a checksum. */
	assert_int_equal(system(command), 0);
	assert_int_equal(io_read_file(out, &text, &e), 0);
	memcpy(file, text.data, text.len);
	return text.len;
}

static size_t make_zip(unsigned char *file)
{
	struct archive *a = archive_write_new();
	size_t used = 0;

	assert_int_equal(archive_write_set_format_zip(a), ARCHIVE_OK);
	archive_write_set_bytes_in_last_block(a, 1);
	assert_int_equal(archive_write_open_memory(a, file, FILE_MAX, &used), ARCHIVE_OK);
	add(a, "first", "x", 1);
	add(a, "x", plain, PLAIN);
	add(a, "last", "x", 1);
	finish(a);
	return used;
}

static size_t make_zboot(unsigned char *file)
{
	enum { AT = 64 };
	size_t n = make_gz(file + AT);

	memset(file, 0, AT);
	memcpy(file, "MZ\0\0zimg", 8);
	le32_put(file + 8, AT);
	le32_put(file + 12, (uint32_t)n);
	memcpy(file + 24, "gzip", 4);
	return AT + n;
}

static size_t make_iso(unsigned char *file)
{
	static const char cfg[] = "menuentry a {\nlinux /boot/x quiet\ninitrd /boot/x\n}\n";
	auto_free char *x = put("x", plain, PLAIN), *grub = put_text("grub.cfg", cfg), *out = at("whole.iso");
	auto_free char *text = xasprintf("644 boot/grub/grub.cfg %s\n644 boot/x %s\n", grub, x), *list = put_text("list", text);
	auto_buf iso = BUF_INIT(FILE_MAX);
	struct err e = { 0 };
	char said[1024];

	assert_int_equal(RUN(command_seed, said, &e, "--label", "X", "--out", out, "--list", list), 0);
	assert_int_equal(io_read_file(out, &iso, &e), 0);
	memcpy(file, iso.data, iso.len);
	return iso.len;
}

/* About as large as plain, with clusters of every kind, the last one whole or packed; the guest's bytes go to plain. */
static size_t make_image(unsigned char *file, bool packed)
{
	uint64_t seed = 0;
	struct qb b;
	size_t len;

	for (;; qb_free(&b)) {
		qb_build(&b, seed++);
		if (b.version == 3 && b.size > PLAIN / 2 && b.size < PLAIN &&
		    (b.len % ((size_t)1 << b.cluster_bits) != 0) == packed)
			break;
	}
	len = b.len;
	memcpy(file, b.file, len);
	memset(plain, 0, PLAIN);
	memcpy(plain, b.guest, b.size);
	qb_free(&b);
	return len;
}

static size_t make_qcow2(unsigned char *file)
{
	return make_image(file, false);
}

static size_t make_packed_qcow2(unsigned char *file)
{
	return make_image(file, true);
}

/* --- what is done with it; out is the path of what came of it --- */

static int get(const char *in, char *out, struct err *e)
{
	return RUN(command_get, out, e, in);
}

static int extract(const char *in, char *out, struct err *e)
{
	auto_free char *to = at("out/file");
	char said[1024];
	int rc = RUN(command_extract, said, e, in, "x", to);

	snprintf(out, 1024, "%s", to);
	return rc;
}

static int kernel(const char *in, char *out, struct err *e)
{
	auto_free char *to = at("out/file");
	char said[1024];
	int rc = RUN(command_kernel, said, e, in, to);

	snprintf(out, 1024, "%s", to);
	return rc;
}

static int bootfiles(const char *in, char *out, struct err *e)
{
	auto_free char *to = at("out/file"), *initrd = at("out/initrd");
	char said[1024];
	int rc = RUN(command_bootfiles, said, e, in, "--kernel", to, "--initrd", initrd);

	if (rc == 0)
		assert_int_equal(unlink(initrd), 0);
	snprintf(out, 1024, "%s", to);
	return rc;
}

static int convert(const char *in, char *out, struct err *e)
{
	auto_free char *to = at("out/file");
	char said[1024];
	int rc = RUN(command_convert, said, e, in, to);

	snprintf(out, 1024, "%s", to);
	return rc;
}

static int inspect(const char *in, char *out, struct err *e)
{
	out[0] = '\0';
	return RUN(command_inspect, (char[1024]){ 0 }, e, in);
}

/* --- the damage --- */

struct kind {
	const char *name;
	size_t (*make)(unsigned char *file);
	int (*run)(const char *in, char *out, struct err *e);
	/* Whether any cut, any flipped bit that matters, is found. A disk image and a volume have no checksums. */
	bool cuts_show, flips_show;
	size_t least; /* bytes without which it is another kind of file */
};

static unsigned entries(const char *name)
{
	auto_free char *path = at(name);
	auto_closedir DIR *d = opendir(path);
	unsigned n = 0;

	for (struct dirent *de; d && (de = readdir(d));)
		n += strcmp(de->d_name, ".") && strcmp(de->d_name, "..");
	return n;
}

static bool is_plain(const char *path)
{
	auto_buf got = BUF_INIT(FILE_MAX);
	struct err e;

	assert_int_equal(io_read_file(path, &got, &e), 0);
	return got.len && got.len <= PLAIN && !memcmp(got.data, plain, got.len);
}

static void try(const struct kind *k, const char *how, size_t where, const unsigned char *p, size_t n, bool shows)
{
	auto_free char *in = put(k->name, p, n);
	clock_t begun = clock();
	struct err e = { 0 };
	char out[1024];
	int rc = k->run(in, out, &e);

	if (clock() - begun > CPU_SECONDS * CLOCKS_PER_SEC)
		fail_msg("%s, %s %zu: it took more than %d s", k->name, how, where, CPU_SECONDS);
	if (rc < 0 && (!*e.msg || strpbrk(e.msg, "\n\r\033")))
		fail_msg("%s, %s %zu: \"%s\" is no sentence", k->name, how, where, e.msg);
	if (rc == 0 && *out) {
		if (shows && !is_plain(out))
			fail_msg("%s, %s %zu: read as something else", k->name, how, where);
		unlink(out);
	}
	if (entries("out") || entries("cache/limactl-c/objects") || entries("cache/limactl-c/tmp"))
		fail_msg("%s, %s %zu: something was left (%s)", k->name, how, where, e.msg);
}

static void damage(const struct kind *k)
{
	auto_free unsigned char *file = xmalloc(FILE_MAX), *copy = xmalloc(FILE_MAX);
	struct qb random = { .seed = 1 };
	size_t n;

	make_plain();
	n = k->make(file);
	try(k, "whole", n, file, n, true);
	for (size_t len = 0; len < n; len += 1 + n / CUTS)
		try(k, "cut at", len, file, len, k->cuts_show && len >= k->least);
	for (size_t back = 1; back < 20; back++)
		try(k, "cut at", n - back, file, n - back, k->cuts_show);
	for (size_t i = 0; i < FLIPS; i++) {
		size_t where = i < 100 ? i : qb_random(&random, (uint32_t)n);

		memcpy(copy, file, n);
		copy[where] ^= (unsigned char)(1 + qb_random(&random, 255));
		try(k, "changed at", where, copy, n, k->flips_show);
	}
}

static void test_damage(void **state)
{
	static const struct kind kinds[] = {
		{ "gz.gz", make_gz, get, true, true, 0 },
		{ "xz.xz", make_xz, get, true, true, 0 },
		{ "bz2.bz2", make_bz2, get, true, true, 0 },
		{ "zst.zst", make_zst, get, true, true, 0 },
		{ "zip.whl", make_zip, extract, true, true, 0 },
		{ "zboot", make_zboot, kernel, true, false, 64 },
		{ "iso", make_iso, bootfiles, true, false, 0 },
		{ "qcow2", make_qcow2, convert, true, false, 4 },
		{ "packed qcow2", make_packed_qcow2, convert, true, false, 4 },
		{ "qcow2, looked at", make_qcow2, inspect, false, false, 0 },
		{ "iso, looked at", make_iso, inspect, false, false, 0 },
	};
	auto_free char *out = at("out");
	struct rusage used;
	struct err e;

	(void)state;
	assert_int_equal(fs_mkdirs(out, 0700, &e), 0);
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		damage(&kinds[i]);
	assert_int_equal(getrusage(RUSAGE_SELF, &used), 0);
	assert_in_range(used.ru_maxrss, 1, RSS_MAX_KIB);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_damage),
	};

	return cmocka_run_group_tests_name("image_damage", tests, make_dir, remove_dir);
}
