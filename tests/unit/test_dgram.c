/* Datagrams on a stream. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "lib/dgram.h"
#include "tests/unit/mux_link.h"

static struct mux_link l;
static struct dgram d;

static int begin(void **state)
{
	(void)state;
	link_begin(&l);
	return 0;
}

static int end(void **state)
{
	(void)state;
	link_end(&l);
	return 0;
}

static enum dgram_result put(size_t len, int fill)
{
	d.len = len;
	memset(dgram_payload(&d), fill, len);
	return dgram_write(l.from, &d);
}

static void expect(size_t len, int fill)
{
	memset(&d, 0xee, sizeof(d));
	assert_int_equal(dgram_read(l.to, &d), DGRAM_DONE);
	assert_int_equal(d.len, len);
	for (size_t i = 0; i < len; i++)
		assert_int_equal(dgram_payload(&d)[i], fill);
}

static void comes_as_it_was(void **state)
{
	static const size_t sizes[] = { 0, 1, 512, 0, 1472, 9000, 65507, 0, DGRAM_MAX, 2 };
	static const size_t pieces[] = { 1, 7, 4096, SIZE_MAX };

	(void)state;
	/* Often enough for every record to lie across the end of the ring once. */
	for (int turn = 0; turn < 40; turn++) {
		for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++)
			assert_int_equal(put(sizes[i], 'a' + (int)i), DGRAM_DONE);
		link_run(&l, pieces[turn % 4]);
		for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++)
			expect(sizes[i], 'a' + (int)i);
		assert_int_equal(dgram_read(l.to, &d), DGRAM_LATER);
		link_run(&l, SIZE_MAX);
	}
}

static void half_of_one_is_none(void **state)
{
	(void)state;
	mux_write(l.from, "\x05", 1);
	link_run(&l, SIZE_MAX);
	assert_int_equal(dgram_read(l.to, &d), DGRAM_LATER);
	mux_write(l.from, "\0abcd", 5);
	link_run(&l, SIZE_MAX);
	assert_int_equal(dgram_read(l.to, &d), DGRAM_LATER);
	mux_write(l.from, "e", 1);
	mux_finish(l.from);
	link_run(&l, SIZE_MAX);
	assert_int_equal(dgram_read(l.to, &d), DGRAM_DONE);
	assert_int_equal(d.len, 5);
	assert_memory_equal(dgram_payload(&d), "abcde", 5);
	assert_int_equal(dgram_read(l.to, &d), DGRAM_LATER);
	assert_true(mux_at_end(l.to));
}

static void longer_than_any_datagram_is_refused(void **state)
{
	(void)state;
	mux_write(l.from, "\xf8\xff", 2); /* 65528 */
	link_run(&l, SIZE_MAX);
	assert_int_equal(dgram_read(l.to, &d), DGRAM_BROKEN);
}

static void without_room_nothing_is_written(void **state)
{
	unsigned sent = 0;

	(void)state;
	while (put(60000, 'a') == DGRAM_DONE)
		sent++;
	assert_int_equal(sent, MUX_WINDOW / 60002);
	assert_int_equal(put(0, 'b'), DGRAM_DONE); /* a small one still fits */
	assert_false(dgram_room(l.from));
	link_run(&l, SIZE_MAX);
	assert_int_equal(l.writable, 0);
	for (unsigned i = 0; i < sent; i++)
		expect(60000, 'a');
	expect(0, 'b');
	link_run(&l, SIZE_MAX);
	assert_int_equal(l.writable, 1);
	assert_true(dgram_room(l.from));
}

int main(void)
{
#define T(fn) cmocka_unit_test_setup_teardown(fn, begin, end)
	const struct CMUnitTest tests[] = {
		T(comes_as_it_was),
		T(half_of_one_is_none),
		T(longer_than_any_datagram_is_refused),
		T(without_room_nothing_is_written),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
