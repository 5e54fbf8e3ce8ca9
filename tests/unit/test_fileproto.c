#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "lib/fileproto.h"
#include "lib/le.h"

static uint8_t bytes[FP_ENTRY_MAX + 1];

static const struct fp_entry link_entry = {
	.mode = 0777, .mtime = -5, .mtime_ns = 999999999, .name = "a\nb\xff *", .link = "../../etc",
};

static void test_entry(void **state)
{
	struct fp_entry v;
	size_t n = fp_entry_pack(&link_entry, bytes);

	(void)state;
	assert_int_equal(fp_entry_unpack(&v, FP_LINK, bytes, n), 0);
	assert_int_equal(v.mode, 0777);
	assert_true(v.mtime == -5 && v.mtime_ns == 999999999 && v.size == 0 && !v.ask);
	assert_string_equal(v.name, link_entry.name);
	assert_string_equal(v.link, link_entry.link);
	/* A link says something, nothing else does. */
	assert_int_equal(fp_entry_unpack(&v, FP_FILE, bytes, n), -1);
	assert_int_equal(fp_entry_unpack(&v, FP_LINK, bytes, FP_ENTRY_FIXED + strlen(link_entry.name)), -1);
	for (size_t i = 0; i < FP_ENTRY_FIXED + strlen(link_entry.name); i++)
		assert_int_equal(fp_entry_unpack(&v, FP_LINK, bytes, i), -1);
}

/* What a file is, with one thing wrong. */
static void test_refused(void **state)
{
	static const struct fp_entry file = { .mode = 0600, .size = 1 << 20, .ask = true, .name = "f" };
	static const struct {
		size_t at;
		uint8_t value;
	} wrong[] = {
		{ 2, 1 },     /* a bit of the mode that is none */
		{ 15, 0x3c }, /* more than a second of nanoseconds */
		{ 23, 0x80 }, /* larger than any file */
		{ 24, 2 },    /* an unknown flag */
		{ 26, 2 },    /* a name longer than what is there */
		{ 28, 0 },    /* a NUL in the name */
		{ 28, '/' },
		{ 28, '.' },
	};
	struct fp_entry v;
	size_t n = fp_entry_pack(&file, bytes);

	(void)state;
	assert_int_equal(fp_entry_unpack(&v, FP_FILE, bytes, n), 0);
	assert_true(v.ask && v.size == 1 << 20);
	assert_int_equal(fp_entry_unpack(&v, FP_DIR, bytes, n), -1);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		fp_entry_pack(&file, bytes);
		bytes[wrong[i].at] = wrong[i].value;
		assert_int_equal(fp_entry_unpack(&v, FP_FILE, bytes, n), -1);
	}
}

static void test_names(void **state)
{
	static const char *const good[] = { "a", "...", ".x", "-", "\xff", "~", "a b" };
	static const char *const bad[] = { "", ".", "..", "/", "a/", "../a", "a/../b" };
	char longest[FP_NAME_MAX + 2];
	struct fp_entry v, none = { .mode = 0700 };
	size_t n = fp_entry_pack(&none, bytes);

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++)
		assert_true(fp_is_name(good[i]));
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		assert_false(fp_is_name(bad[i]));
	memset(longest, 'x', sizeof(longest));
	longest[FP_NAME_MAX + 1] = '\0';
	assert_false(fp_is_name(longest));
	longest[FP_NAME_MAX] = '\0';
	assert_true(fp_is_name(longest));
	assert_int_equal(fp_entry_unpack(&v, FP_DIR, bytes, n), 0);
	assert_int_equal(fp_entry_unpack(&v, FP_FILE, bytes, n), -1);
}

static void test_header(void **state)
{
	uint8_t p[FP_HEADER];
	enum fp_type type;
	size_t len;

	(void)state;
	fp_header_pack(p, FP_DATA, FP_PAYLOAD_MAX);
	assert_int_equal(fp_header_unpack(p, &type, &len), 0);
	assert_true(type == FP_DATA && len == FP_PAYLOAD_MAX);
	p[4] = 1;
	assert_int_equal(fp_header_unpack(p, &type, &len), -1);
	for (unsigned t = 0; t < 300; t++) {
		fp_header_pack(p, FP_DATA, 0);
		le32_put(p, t);
		assert_int_equal(fp_header_unpack(p, &type, &len), t >= FP_TOTAL && t <= FP_END ? 0 : -1);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_entry),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_header),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
