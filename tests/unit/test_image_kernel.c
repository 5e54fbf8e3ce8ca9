/* Kernels inside EFI zboot images. */
#include "tests/unit/image_util.h"

#include <zlib.h>
#include <zstd.h>

#include "lib/le.h"
#include "limactl-c/image/kernel.h"

enum { PLAIN = 100000, PAYLOAD_AT = 200 };

static size_t pack(const unsigned char *in, unsigned char *out, size_t room, const char *packing)
{
	z_stream z = { .next_in = (unsigned char *)(uintptr_t)in, .avail_in = PLAIN, .next_out = out, .avail_out = (unsigned)room };

	if (*packing == 'z')
		return ZSTD_compress(out, room, in, PLAIN, 3);
	assert_int_equal(deflateInit2(&z, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
	assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
	deflateEnd(&z);
	return room - z.avail_out;
}

/* An image with sections behind its payload, as real ones have. */
static size_t make(unsigned char *image, size_t room, const unsigned char *plain, const char *packing)
{
	size_t n = pack(plain, image + PAYLOAD_AT, room - PAYLOAD_AT - 500, packing);

	memset(image, 0, PAYLOAD_AT);
	memcpy(image, "MZ\0\0zimg", 8);
	le32_put(image + 8, PAYLOAD_AT);
	le32_put(image + 12, (uint32_t)n);
	memcpy(image + 24, packing, strlen(packing));
	memset(image + PAYLOAD_AT + n, 0xee, 500);
	return PAYLOAD_AT + n + 500;
}

static void fill(unsigned char *plain)
{
	for (size_t i = 0; i < PLAIN; i++)
		plain[i] = (unsigned char)(i / 3 + (i >> 9) * (i & 5));
	memcpy(plain + 56, "ARM\x64", 4);
	memset(plain + PLAIN - 8192, 0, 8192);
}

static void assert_gives(const char *in, const unsigned char *wanted, size_t n)
{
	auto_free char *out = at("out");
	auto_free unsigned char *got = xmalloc(n + 1);
	struct err e = { 0 };
	char said[1024];
	FILE *f;

	if (RUN(command_kernel, said, &e, in, out))
		fail_msg("%s", e.msg);
	f = fopen(out, "r");
	assert_int_equal(fread(got, 1, n + 1, f), n);
	fclose(f);
	assert_memory_equal(got, wanted, n);
}

static void test_the_kernel_inside_comes_out(void **state)
{
	auto_free unsigned char *plain = xmalloc(PLAIN), *image = xmalloc(2 * PLAIN);

	(void)state;
	fill(plain);
	for (int i = 0; i < 2; i++) {
		auto_free char *in = put("in", image, make(image, 2 * PLAIN, plain, i ? "zstd" : "gzip"));

		assert_gives(in, plain, PLAIN);
	}
}

static void test_any_other_kernel_stays_as_it_is(void **state)
{
	auto_free unsigned char *plain = xmalloc(PLAIN);
	auto_free char *in = NULL;

	(void)state;
	fill(plain);
	in = put("in", plain, PLAIN);
	assert_gives(in, plain, PLAIN);
}

static void test_a_damaged_one_is_refused(void **state)
{
	static const struct {
		size_t at;
		uint32_t value;
		const char *what;
	} rows[] = {
		{ 8, 0xffffffff, "does not lie inside" }, { 8, 1, "does not lie inside" }, { 12, 0, "does not lie inside" },
		{ 12, 0xffffff00, "does not lie inside" }, { 24, 0x79787a6c, "packed in a way" },
		{ PAYLOAD_AT, 0, "in" },
	};
	auto_free unsigned char *plain = xmalloc(PLAIN), *image = xmalloc(2 * PLAIN);
	auto_free char *out = at("refused");

	(void)state;
	fill(plain);
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		size_t n = make(image, 2 * PLAIN, plain, "gzip");
		auto_free char *in = NULL;
		struct err e = { 0 };
		char said[1024];

		le32_put(image + rows[i].at, rows[i].value);
		in = put("in", image, n);
		assert_int_equal(RUN(command_kernel, said, &e, in, out), -1);
		if (!strstr(e.msg, rows[i].what))
			fail_msg("%s: %s", rows[i].what, e.msg);
		assert_int_not_equal(access(out, F_OK), 0);
	}
}

static void test_any_bytes_are_looked_at_safely(void **state)
{
	unsigned char image[KERNEL_HEADER + 40];
	struct zboot z;
	struct err e;

	(void)state;
	srand(1);
	for (int round = 0; round < 100000; round++) {
		size_t n = (size_t)rand() % sizeof(image);

		for (size_t i = 0; i < n; i++)
			image[i] = (unsigned char)rand();
		if (n > 8 && round % 2)
			memcpy(image, "MZ\0\0zimg", 8);
		if (n > 16 && round % 3)
			memset(image + 9, 0, 3), memset(image + 13, 0, 3);
		if (kernel_zboot(image, n, &z, &e) == 1)
			assert_true(z.payload < n && z.len <= n - z.payload);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_kernel_inside_comes_out),
		cmocka_unit_test(test_any_other_kernel_stays_as_it_is),
		cmocka_unit_test(test_a_damaged_one_is_refused),
		cmocka_unit_test(test_any_bytes_are_looked_at_safely),
	};

	return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
