/* The qcow2 reader against images made here, against qemu-img, and against what an enemy could write. */
#include "tests/unit/image_util.h"
#include "tests/unit/qcow2_build.h"

#include "limactl-c/base/spawn.h"
#include "limactl-c/image/command.h"
#include "limactl-c/image/disk_image.h"

static void assert_reads_as(const struct qb *b, const struct byte_source *below, const unsigned char *wanted)
{
	struct qb_memory m = { b->file, b->len };
	struct byte_source file = { qb_read, &m, b->len };
	struct err e = { 0 };
	struct qcow2 *q = qcow2_open(&file, &e);
	size_t n = (size_t)1 << b->cluster_bits;
	auto_free unsigned char *out = xmalloc(n);

	assert_non_null(q);
	assert_int_equal(qcow2_check(q, &e), 0);
	assert_int_equal(qcow2_size(q), b->size);
	assert_int_equal(qcow2_cluster_size(q), n);
	qcow2_set_backing(q, below);
	for (uint64_t i = 0; i * n < b->size; i++) {
		bool zero;

		if (qcow2_read_cluster(q, i, out, &zero, &e) < 0)
			fail_msg("cluster %u: %s", (unsigned)i, e.msg);
		if (zero)
			memset(out, 0, n);
		assert_memory_equal(out, wanted + i * n, n);
	}
	qcow2_close(q);
}

/* Whoever asks for a cluster behind the end gets no bytes from behind the first table. */
static void test_a_cluster_behind_the_end_is_refused(void **state)
{
	struct qb b;
	struct qb_memory m;
	struct byte_source file;
	struct err e = { 0 };
	struct qcow2 *q;
	auto_free unsigned char *out = NULL;
	bool zero;

	(void)state;
	qb_build(&b, 1);
	m = (struct qb_memory){ b.file, b.len };
	file = (struct byte_source){ qb_read, &m, b.len };
	q = qcow2_open(&file, &e);
	assert_non_null(q);
	out = xmalloc(qcow2_cluster_size(q));
	assert_int_equal(qcow2_read_cluster(q, UINT64_MAX >> 20, out, &zero, &e), -1);
	assert_non_null(strstr(e.msg, "behind its end"));
	qcow2_close(q);
	qb_free(&b);
}

static void read_back(const char *path, unsigned char *out, size_t n)
{
	FILE *f = fopen(path, "r");

	assert_non_null(f);
	assert_int_equal(fread(out, 1, n, f), n);
	fclose(f);
}

static void test_ten_thousand_random_images_read_as_they_were_made(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < 10000; seed++) {
		struct qb b;

		qb_build(&b, seed);
		assert_reads_as(&b, NULL, b.guest);
		qb_free(&b);
	}
}

/* Random images on random images of another cluster size, the lower often shorter. */
static void test_missing_clusters_read_from_the_image_below(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < 200; seed++) {
		struct qb b;
		size_t len = 1 + (size_t)(seed * 7919 % 300000), n;
		auto_free unsigned char *lower = xmalloc(len);
		struct qb_memory m = { lower, len };
		struct byte_source below = { qb_read, &m, len };

		qb_build(&b, seed);
		n = (size_t)1 << b.cluster_bits;
		for (size_t i = 0; i < len; i++)
			lower[i] = (unsigned char)(i * 31 + seed);
		for (size_t i = 0; i * n < b.size; i++)
			for (size_t k = 0; b.missing[i] && k < n && i * n + k < len; k++)
				b.guest[i * n + k] = lower[i * n + k];
		assert_reads_as(&b, &below, b.guest);
		qb_free(&b);
	}
}

/* Every way qemu-img writes an image; converted back it is the same, holes included. */
static void test_convert_agrees_with_qemu_img(void **state)
{
	static const char *const kinds[][2] = {
		{ "compat=1.1", "" }, { "compat=0.10", "" }, { "compat=1.1", "-c" }, { "compat=0.10", "-c" },
		{ "compression_type=zstd", "-c" }, { "cluster_size=512", "-c" }, { "cluster_size=2M", "-c" },
		{ "preallocation=metadata", "" },
	};
	auto_free char *raw = at("a.raw"), *image = at("a.qcow2"), *back = at("back.raw");
	auto_free unsigned char *bytes = xcalloc(1, 8 << 20), *got = xmalloc(8 << 20);
	struct qb random = { .seed = 1 };

	(void)state;
	qb_content(&random, bytes + (1 << 20), 300000, false);
	qb_content(&random, bytes + (5 << 20) + 777, 500000, true);
	free(put("a.raw", bytes, 8 << 20));
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		const char *argv[] = { "qemu-img", "convert", "-f", "raw", "-O", "qcow2", "-o", kinds[i][0], raw, image,
				       *kinds[i][1] ? kinds[i][1] : NULL, NULL };
		struct spawn s = { .argv = argv, .seconds = 60 };
		struct err e = { 0 };
		char said[1024];
		struct stat st;

		unlink(image);
		unlink(back);
		assert_int_equal(spawn_run(&s, NULL, &e), 0);
		if (RUN(command_convert, said, &e, image, back))
			fail_msg("%s %s: %s", kinds[i][0], kinds[i][1], e.msg);
		read_back(back, got, 8 << 20);
		assert_memory_equal(got, bytes, 8 << 20);
		assert_int_equal(stat(back, &st), 0);
		assert_in_range(st.st_blocks * 512, 1, 2 << 20); /* 800 kB are data */
	}
}

/* An overlay is read through what it names only when that is asked for. */
static void test_a_backing_file_is_followed_only_when_allowed(void **state)
{
	auto_free char *raw = at("base.raw"), *image = at("over.qcow2"), *back = at("over.raw");
	const char *argv[] = { "qemu-img", "create", "-q", "-f", "qcow2", "-b", "base.raw", "-F", "raw", image, "1M", NULL };
	struct spawn s = { .argv = argv, .seconds = 60 };
	unsigned char bytes[4096], got[4096];
	struct err e = { 0 };
	char said[1024];

	(void)state;
	memset(bytes, 'x', sizeof(bytes));
	free(put("base.raw", bytes, sizeof(bytes)));
	assert_int_equal(spawn_run(&s, NULL, &e), 0);
	assert_int_equal(RUN(command_convert, said, &e, image, back), -1);
	assert_non_null(strstr(e.msg, "refers to another file"));
	assert_int_not_equal(access(back, F_OK), 0);
	assert_int_equal(RUN(command_convert, said, &e, "--backing", image, back), 0);
	read_back(back, got, sizeof(got));
	assert_memory_equal(got, bytes, sizeof(got));
}

/* A small right image with one thing changed. */
static void test_what_cannot_be_read_is_refused_by_name(void **state)
{
	static const struct {
		size_t at, n;
		uint64_t value;
		const char *what;
	} rows[] = {
		{ 4, 4, 1, "qcow version 1" },  { 4, 4, 4, "qcow version 4" }, { 32, 4, 1, "encrypted" },
		{ 32, 4, 2, "encrypted" },      { 20, 4, 8, "cluster size" },  { 20, 4, 22, "cluster size" },
		{ 20, 4, 0xffffffff, "cluster size" }, { 24, 8, 1ULL << 41, "larger than" },
		{ 24, 8, UINT64_MAX, "larger than" },  { 72, 8, 2, "corrupt" }, { 72, 8, 4, "another file" },
		{ 72, 8, 16, "extended L2" },   { 72, 8, 1ULL << 40, "does not know" }, { 36, 4, 0, "too small" },
		{ 40, 8, 1ULL << 62, "behind the end" }, { 8, 8, 1ULL << 40, "backing file" },
	};
	struct qb b;
	uint64_t seed = 0;

	(void)state;
	do {
		qb_build(&b, seed++);
		if (b.version == 3)
			break;
		qb_free(&b);
	} while (true);
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		auto_free unsigned char *copy = xmalloc(b.len);
		struct qb_memory m = { copy, b.len };
		struct byte_source file = { qb_read, &m, b.len };
		struct err e = { 0 };

		memcpy(copy, b.file, b.len);
		qb_be(copy + rows[i].at, rows[i].value, rows[i].n);
		assert_null(qcow2_open(&file, &e));
		if (!strstr(e.msg, rows[i].what))
			fail_msg("%s: %s", rows[i].what, e.msg);
	}
	/* Cut anywhere, an image is refused or some cluster is; nothing else happens. */
	for (size_t len = 0; len < b.len; len += 1 + len / 16) {
		struct qb_memory m = { b.file, len };
		struct byte_source file = { qb_read, &m, len };
		struct err e = { 0 };

		qcow2_close(qcow2_open(&file, &e));
	}
	qb_free(&b);
}

/* What is left of an image reads as it was made, or not at all. */
static void test_a_cut_image_reads_as_nothing_else(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < 300; seed++) {
		struct qb b;

		qb_build(&b, seed);
		for (size_t cut = 1; cut < b.len && cut < 2000; cut += 1 + cut / 2) {
			struct qb_memory m = { b.file, b.len - cut };
			struct byte_source file = { qb_read, &m, b.len - cut };
			struct err e = { 0 };
			struct qcow2 *q = qcow2_open(&file, &e);
			size_t n = (size_t)1 << b.cluster_bits;
			auto_free unsigned char *out = xmalloc(n);
			bool zero, whole = q && qcow2_check(q, &e) == 0;

			for (uint64_t i = 0; q && i * n < b.size; i++) {
				if (qcow2_read_cluster(q, i, out, &zero, &e) < 0) {
					/* Only the end of packed data is not seen without reading it. */
					assert_false(whole && !strstr(e.msg, "packed"));
					continue;
				}
				if (zero)
					memset(out, 0, n);
				assert_memory_equal(out, b.guest + i * n, b.size - i * n < n ? b.size - i * n : n);
			}
			qcow2_close(q);
		}
		qb_free(&b);
	}
}

static void test_other_formats_are_refused_by_name(void **state)
{
	static const struct {
		const char *magic;
		size_t len, at;
		const char *name;
	} rows[] = {
		{ "conectix", 8, 4096 - 512, "VHD" },    { "vhdxfile", 8, 0, "VHDX" },
		{ "KDMV", 4, 0, "VMDK" },                { "\x7f\x10\xda\xbe", 4, 64, "VDI" },
		{ "WithoutFreeSpace", 16, 0, "Parallels" }, { "shdw", 4, 0, "ASIF" },
	};
	auto_free char *path = at("other.img"), *out = at("other.raw");

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		unsigned char bytes[4096] = { 0 };
		struct err e = { 0 };
		char said[1024];

		memcpy(bytes + rows[i].at, rows[i].magic, rows[i].len);
		free(put("other.img", bytes, sizeof(bytes)));
		assert_int_equal(RUN(command_convert, said, &e, path, out), -1);
		if (!strstr(e.msg, rows[i].name))
			fail_msg("%s: %s", rows[i].name, e.msg);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ten_thousand_random_images_read_as_they_were_made),
		cmocka_unit_test(test_missing_clusters_read_from_the_image_below),
		cmocka_unit_test(test_a_cluster_behind_the_end_is_refused),
		cmocka_unit_test(test_convert_agrees_with_qemu_img),
		cmocka_unit_test(test_a_backing_file_is_followed_only_when_allowed),
		cmocka_unit_test(test_what_cannot_be_read_is_refused_by_name),
		cmocka_unit_test(test_a_cut_image_reads_as_nothing_else),
		cmocka_unit_test(test_other_formats_are_refused_by_name),
	};

	return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
