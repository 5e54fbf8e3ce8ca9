/* Words of a kernel's command line. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "lib/cmdline.h"

static void test_words(void **state)
{
	static const char *const want[] = { "a", "b=\"c  d\"", "\"e f\"", "g" };
	const char *at = "  a b=\"c  d\"\t\"e f\" g \n";
	size_t n, i = 0;

	(void)state;
	for (; (n = cmdline_word(&at)); at += n, i++) {
		assert_true(i < 4);
		assert_int_equal(n, strlen(want[i]));
		assert_memory_equal(at, want[i], n);
	}
	assert_int_equal(i, 4);
	at = "open=\"a b";
	assert_int_equal(cmdline_word(&at), 9);
	at = "";
	assert_int_equal(cmdline_word(&at), 0);
}

static void test_what_speaks_of_the_same(void **state)
{
	static const struct {
		const char *args, *word;
		bool key, same;
	} rows[] = {
		{ "psi=0 quiet", "psi=1", true, false },
		{ "psi", "psi=1", true, false },
		{ "psi=1", "psi=1", true, true },
		{ "psi2=1 xpsi=1", "psi=1", false, false },
		{ "console=ttyS0,115200 console=tty0", "console=ttyS0", true, false },
		{ "console=ttyS0", "console=ttyS0,9600", true, false },
		{ "console=ttyS1", "console=ttyS0", false, false },
		{ "x=\"psi=1\"", "psi=1", false, false },
		{ "", "quiet", false, false },
		{ "quiet", "quiet", true, true },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		size_t n = strlen(rows[i].word);

		assert_int_equal(cmdline_has_key(rows[i].args, rows[i].word, n), rows[i].key);
		assert_int_equal(cmdline_has(rows[i].args, rows[i].word, n), rows[i].same);
	}
}

static void test_our_words_are_taken_out(void **state)
{
	static const struct {
		const char *args, *want;
	} rows[] = {
		{ "root=/a lima.begin psi=1 quiet lima.end", "root=/a" },
		{ "lima.begin psi=1 lima.end root=/a ro", "root=/a ro" },
		{ "root=/a lima.begin lima.end ro", "root=/a ro" },
		{ "root=/a lima.begin x lima.end y lima.begin z lima.end w", "root=/a y w" },
		{ "lima.begin x lima.end", "" },
		/* Not ours. */
		{ "root=/a lima.begin psi=1", "root=/a lima.begin psi=1" },
		{ "root=/a lima.end ro", "root=/a lima.end ro" },
		{ "root=/a \"lima.begin x lima.end\"", "root=/a \"lima.begin x lima.end\"" },
		{ "root=/a xlima.begin x lima.endx", "root=/a xlima.begin x lima.endx" },
		{ "", "" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char text[100];

		snprintf(text, sizeof(text), "%s", rows[i].args);
		cmdline_drop_ours(text);
		assert_string_equal(text, rows[i].want);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_words),
		cmocka_unit_test(test_what_speaks_of_the_same),
		cmocka_unit_test(test_our_words_are_taken_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
