/* What an instance's files say about the images it lies on: anything that looks like an object's name counts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "limactl-c/image/references.h"

#define A "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define B "ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff"

static void test_scan(void **state)
{
	static const struct {
		const char *text;
		size_t count;
	} rows[] = {
		{ "", 0 },
		{ "\"/c/objects/sha256-" A "\"", 1 },
		{ "sha256-" A "sha256-" B, 2 },
		{ "sha256-" A " sha256-" A, 1 },
		{ "sha256-sha256-" B, 1 },
		{ "sha256-" A A, 1 },
		{ "sha256-0123", 0 },
		{ "sha256-", 0 },
		{ "sha512-" A, 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct references r = REFERENCES_INIT;

		references_scan(&r, rows[i].text, strlen(rows[i].text));
		if (r.count != rows[i].count)
			fail_msg("\"%s\" has %zu", rows[i].text, r.count);
		references_fini(&r);
	}
}

/* Cut off where the bytes end, also in the middle of binary data. */
static void test_bytes(void **state)
{
	static const char bytes[] = "QFI\xfb\0\0\0\3\0../objects/sha256-" B;
	struct references r = REFERENCES_INIT;

	(void)state;
	references_scan(&r, bytes, sizeof(bytes) - 2);
	assert_int_equal(r.count, 0);
	references_scan(&r, bytes, sizeof(bytes) - 1);
	assert_int_equal(r.count, 1);
	assert_true(references_have(&r, B));
	assert_false(references_have(&r, A));
	references_fini(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_scan), cmocka_unit_test(test_bytes) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
