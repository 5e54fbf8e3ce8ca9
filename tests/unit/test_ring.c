#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "lib/ring.h"

static uint8_t byte_at(uint64_t offset)
{
	return (uint8_t)(offset * 31 ^ offset >> 8);
}

static void test_empty(void **state)
{
	struct ring r = { 0 };

	(void)state;
	assert_int_equal(ring_room(&r, 5, 5, 0, 1024), 0);
	assert_null(r.data);
	ring_free(&r);
}

static void test_limits(void **state)
{
	struct ring r = { 0 };

	(void)state;
	assert_int_equal(ring_room(&r, 0, 0, 1024, 1024), 0);
	assert_int_equal(r.cap, 1024);
	assert_int_equal(ring_room(&r, 0, 0, 1025, 1024), -1);
	assert_int_equal(r.cap, 1024);
	ring_free(&r);
	assert_int_equal(r.cap, 0);
}

/* Bytes pass through while it grows and wraps, from an offset near 2^32 and one near 2^64. */
static void test_growing_and_wrapping(void **state)
{
	static const uint64_t starts[] = { 0, UINT32_MAX - 700u, UINT64_MAX - 90000 };
	uint8_t chunk[3000];

	(void)state;
	for (size_t k = 0; k < sizeof(starts) / sizeof(starts[0]); k++) {
		struct ring r = { 0 };
		uint64_t base = starts[k], end = base;

		for (size_t turn = 1; turn < 40; turn++) {
			size_t in = turn * 71 % sizeof(chunk), out = turn * 53 % sizeof(chunk);

			assert_int_equal(ring_room(&r, base, end, (size_t)(end - base) + in, 1 << 17), 0);
			for (size_t i = 0; i < in; i++)
				chunk[i] = byte_at(end + i);
			ring_put(&r, end, chunk, in);
			end += in;
			if (out > end - base)
				out = (size_t)(end - base);
			ring_get(&r, base, chunk, out);
			for (size_t i = 0; i < out; i++)
				assert_int_equal(chunk[i], byte_at(base + i));
			base += out;
		}
		ring_free(&r);
	}
}

static void test_contiguous(void **state)
{
	struct ring r = { 0 };
	size_t n;

	(void)state;
	assert_int_equal(ring_room(&r, 0, 0, 512, 512), 0);
	assert_ptr_equal(ring_at(&r, 0, &n), r.data);
	assert_int_equal(n, 512);
	assert_ptr_equal(ring_at(&r, 1000, &n), r.data + 488);
	assert_int_equal(n, 24);
	ring_free(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_empty),
		cmocka_unit_test(test_limits),
		cmocka_unit_test(test_growing_and_wrapping),
		cmocka_unit_test(test_contiguous),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
