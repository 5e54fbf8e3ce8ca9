#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "limactl-c/base/mem.h"
#include "limactl-c/cli/table.h"

static struct table three(void)
{
	static const char *const cells[] = { "default", "Running", "~/.lima/default", "b\xc3\xa4r", "Stopped", "" };
	struct table t = { .head = { "NAME", "STATUS", "DIR" }, .columns = 3 };

	for (size_t i = 0; i < sizeof(cells) / sizeof(*cells); i++)
		table_add(&t, xstrdup(cells[i]));
	return t;
}

static void check(const struct table *t, unsigned hidden, const char *expected)
{
	char text[1000] = "";
	FILE *f = fmemopen(text, sizeof(text), "w");

	table_print(t, hidden, f);
	fclose(f);
	assert_string_equal(text, expected);
}

static void test_columns_line_up(void **state)
{
	struct table t = three();

	(void)state;
	check(&t, 0, "NAME       STATUS     DIR\n"
		     "default    Running    ~/.lima/default\n"
		     "b\xc3\xa4r        Stopped    \n");
	assert_int_equal(table_width(&t, 0), 37);
	table_free(&t);
}

static void test_hidden_columns(void **state)
{
	struct table t = three();

	(void)state;
	check(&t, 1u << 2, "NAME       STATUS\ndefault    Running\nb\xc3\xa4r        Stopped\n");
	check(&t, 1u << 1, "NAME       DIR\ndefault    ~/.lima/default\nb\xc3\xa4r        \n");
	assert_int_equal(table_width(&t, 1u << 2), 18);
	table_free(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_columns_line_up),
		cmocka_unit_test(test_hidden_columns),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
