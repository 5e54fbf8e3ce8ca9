#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "limactl-c/cli/opts.h"

struct got {
	bool flag;
	enum opt_tristate tty;
	const char *name;
	unsigned cpus, timeout;
	uint64_t memory;
	struct opt_list set;
};

static const struct opt table[] = {
	{ "flag", 'f', OPT_FLAG, offsetof(struct got, flag), NULL, "a flag" },
	{ "tty", 0, OPT_TRISTATE, offsetof(struct got, tty), NULL, "three states" },
	{ "name", 'n', OPT_STRING, offsetof(struct got, name), "NAME", "a name" },
	{ "cpus", 0, OPT_COUNT, offsetof(struct got, cpus), "N", "a number" },
	{ "memory", 0, OPT_GIB, offsetof(struct got, memory), "GIB", "a size" },
	{ "timeout", 0, OPT_DURATION, offsetof(struct got, timeout), "TIME", "a time" },
	{ "set", 's', OPT_LIST, offsetof(struct got, set), "EXPR", "several" },
	{ 0 },
};

enum { ARGS = 16 };

/* Splits line at blanks and parses it; returns the index of the first argument. */
static int parse(const char *line, bool in_order, struct got *g, char *rest, struct err *e)
{
	static char copy[200];
	char *argv[ARGS + 2] = { "prog" }, *save = NULL;
	struct opt_set set = { table, g };
	int argc = 1, first;

	*g = (struct got){ 0 };
	snprintf(copy, sizeof(copy), "%s", line);
	for (char *w = strtok_r(copy, " ", &save); w && argc < ARGS; w = strtok_r(NULL, " ", &save))
		argv[argc++] = w;
	first = opts_parse(&set, 1, in_order, argc, argv, e);
	rest[0] = '\0';
	for (int i = first; first >= 0 && i < argc; i++)
		snprintf(rest + strlen(rest), 200 - strlen(rest), "%s%s", i > first ? " " : "", argv[i]);
	return first;
}

static void test_values(void **state)
{
	char rest[200];
	struct got g;
	struct err e = { 0 };

	(void)state;
	assert_true(parse("-f --name=x --cpus 4 --memory 1.5 --timeout=1m30s arg", false, &g, rest, &e) > 0);
	assert_true(g.flag);
	assert_string_equal(g.name, "x");
	assert_int_equal(g.cpus, 4);
	assert_int_equal(g.memory, 3ull << 29);
	assert_int_equal(g.timeout, 90);
	assert_string_equal(rest, "arg");
}

static void test_flags_take_an_optional_value(void **state)
{
	static const struct {
		const char *line;
		bool flag;
		enum opt_tristate tty;
		const char *rest;
	} rows[] = {
		{ "--flag x", true, OPT_UNSET, "x" },
		{ "--flag=false x", false, OPT_UNSET, "x" },
		{ "--flag=true --tty=false", true, OPT_NO, "" },
		{ "--tty default", false, OPT_YES, "default" },
		{ "", false, OPT_UNSET, "" },
	};
	char rest[200];
	struct got g;
	struct err e = { 0 };

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		assert_true(parse(rows[i].line, false, &g, rest, &e) > 0);
		assert_int_equal(g.flag, rows[i].flag);
		assert_int_equal(g.tty, rows[i].tty);
		assert_string_equal(rest, rows[i].rest);
	}
}

/* "shell default ls -f": the command keeps its own options. */
static void test_in_order(void **state)
{
	char rest[200];
	struct got g;
	struct err e = { 0 };

	(void)state;
	assert_true(parse("--tty default ls -f -x", true, &g, rest, &e) > 0);
	assert_false(g.flag);
	assert_string_equal(rest, "default ls -f -x");
	assert_true(parse("default -f", false, &g, rest, &e) > 0);
	assert_true(g.flag);
	assert_string_equal(rest, "default");
	assert_true(parse("a -- -f", false, &g, rest, &e) > 0);
	assert_false(g.flag);
}

static void test_errors(void **state)
{
	static const struct {
		const char *line, *msg;
	} rows[] = {
		{ "--bogus", "unknown option --bogus" },
		{ "-x", "unknown option -x" },
		{ "--name", "--name needs a value" },
		{ "--cpus=0", "--cpus: \"0\" is no whole number above 0" },
		{ "--cpus=-1", "--cpus: \"-1\" is no whole number above 0" },
		{ "--cpus=2x", "--cpus: \"2x\" is no whole number above 0" },
		{ "--flag=maybe", "--flag: \"maybe\" is neither true nor false" },
		{ "--memory=", "--memory: \"\" is no number of GiB above 0" },
	};
	char rest[200];
	struct got g;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct err e = { 0 };

		assert_int_equal(parse(rows[i].line, false, &g, rest, &e), -1);
		assert_int_equal(e.kind, ERR_USAGE);
		assert_string_equal(e.msg, rows[i].msg);
	}
}

static void test_gib(void **state)
{
	static const char *const bad[] = { "0", "-1", "nan", "inf", "0x10", "1GiB", " 1", "1 ", "1e30", "" };
	struct err e;
	uint64_t n;

	(void)state;
	assert_int_equal(opt_parse_gib("4", &n, &e), 0);
	assert_int_equal(n, 4ull << 30);
	assert_int_equal(opt_parse_gib("0.5", &n, &e), 0);
	assert_int_equal(n, 1ull << 29);
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		assert_int_equal(opt_parse_gib(bad[i], &n, &e), -1);
}

static void test_duration(void **state)
{
	static const char *const bad[] = { "", "0", "0s", "5", "s", "1d", "-1s", "1m ", "99999999999h", "1h99999999h" };
	struct err e;
	unsigned n;

	(void)state;
	assert_int_equal(opt_parse_duration("90s", &n, &e), 0);
	assert_int_equal(n, 90);
	assert_int_equal(opt_parse_duration("1h2m3s", &n, &e), 0);
	assert_int_equal(n, 3723);
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		assert_int_equal(opt_parse_duration(bad[i], &n, &e), -1);
}

static void test_list(void **state)
{
	static char word[] = "prog", option[] = "-sx";
	char rest[200], *argv[OPT_LIST_MAX + 3] = { word };
	struct err e = { 0 };
	struct got g;
	struct opt_set set = { table, &g };

	(void)state;
	assert_true(parse("--set=a,b x -s c", false, &g, rest, &e) > 0);
	assert_int_equal(g.set.count, 2);
	assert_string_equal(g.set.item[0], "a,b");
	assert_string_equal(g.set.item[1], "c");
	for (int i = 1; i <= OPT_LIST_MAX + 1; i++)
		argv[i] = option;
	g = (struct got){ 0 };
	assert_int_equal(opts_parse(&set, 1, false, OPT_LIST_MAX + 2, argv, &e), -1);
	assert_string_equal(e.msg, "--set: may be given at most 64 times");
}

static void test_help(void **state)
{
	char text[2000];
	FILE *f = fmemopen(text, sizeof(text), "w");

	(void)state;
	opts_print(table, f);
	fclose(f);
	assert_non_null(strstr(text, "  -f, --flag"));
	assert_non_null(strstr(text, "      --memory GIB           a size\n"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_values),   cmocka_unit_test(test_flags_take_an_optional_value),
		cmocka_unit_test(test_in_order), cmocka_unit_test(test_errors),
		cmocka_unit_test(test_gib),      cmocka_unit_test(test_duration),
		cmocka_unit_test(test_list),     cmocka_unit_test(test_help),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
