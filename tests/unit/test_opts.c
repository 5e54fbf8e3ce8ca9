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
	const char *memory, *port, *mode, *vm;
	struct opt_list set, dns;
};

static const struct opt table[] = {
	{ "flag", 'f', OPT_FLAG, offsetof(struct got, flag), .help = "a flag" },
	{ "tty", 0, OPT_TRISTATE, offsetof(struct got, tty), .help = "three states" },
	{ "name", 'n', OPT_STRING, offsetof(struct got, name), "NAME", .help = "a name" },
	{ "cpus", 0, OPT_COUNT, offsetof(struct got, cpus), "N", .help = "a number" },
	{ "memory", 0, OPT_GIB, offsetof(struct got, memory), "GIB", .help = "a size" },
	{ "timeout", 0, OPT_DURATION, offsetof(struct got, timeout), "TIME", .help = "a time" },
	{ "port", 0, OPT_PORT, offsetof(struct got, port), "PORT", .help = "a port" },
	{ "mode", 0, OPT_WORD, offsetof(struct got, mode), "MODE", .help = "a word", .words = "user|system|none" },
	{ "vm", 0, OPT_STRING, offsetof(struct got, vm), "TYPE", .help = "with words of a key", .key = "vmType" },
	{ "set", 0, OPT_LIST, offsetof(struct got, set), "EXPRESSION", .help = "several, a long name of a value" },
	{ "dns", 0, OPT_COMMAS, offsetof(struct got, dns), "IP", .help = "several at a time" },
	{ "much-too-long-a-name", 0, OPT_STRING, offsetof(struct got, name), "VALUE", .help = "text" },
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
	assert_string_equal(g.memory, "1.5");
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
		{ "--port=65536", "--port: \"65536\" is no port: 0 to 65535 are possible" },
		{ "--port=-1", "--port: \"-1\" is no port: 0 to 65535 are possible" },
		{ "--port=", "--port: \"\" is no port: 0 to 65535 are possible" },
		{ "--mode=usr", "--mode: \"usr\" is none of user|system|none; did you mean user?" },
		{ "--mode=zzzzzz", "--mode: \"zzzzzz\" is none of user|system|none" },
		{ "--dns=\"a", "--dns: the quotes around a value with commas do not match" },
		{ "--dns=\"a\"b,c", "--dns: the quotes around a value with commas do not match" },
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

static void test_lists(void **state)
{
	char rest[200];
	struct got g;
	struct err e = { 0 };

	(void)state;
	assert_true(parse("--set a,b --dns 1,2 --set=c --dns=\"x,\"\"y\",3", false, &g, rest, &e) > 0);
	assert_int_equal(g.set.count, 2);
	assert_string_equal(g.set.item[0], "a,b");
	assert_string_equal(g.set.item[1], "c");
	assert_int_equal(g.dns.count, 4);
	assert_string_equal(g.dns.item[0], "1");
	assert_string_equal(g.dns.item[1], "2");
	assert_string_equal(g.dns.item[2], "x,\"y");
	assert_string_equal(g.dns.item[3], "3");
	assert_true(parse("--dns=,", false, &g, rest, &e) > 0);
	assert_int_equal(g.dns.count, 2);
}

static void test_too_long_a_list(void **state)
{
	char line[200] = "--dns=", rest[200];
	struct got g;
	struct err e = { 0 };

	(void)state;
	memset(line + 6, ',', OPT_LIST_MAX);
	assert_int_equal(parse(line, false, &g, rest, &e), -1);
	assert_string_equal(e.msg, "--dns: may be given at most 64 times");
}

static void test_words(void **state)
{
	const struct opt *o = table;

	(void)state;
	while (strcmp(o->name, "mode"))
		o++;
	assert_string_equal(opt_words(o), "user|system|none");
	assert_non_null(strstr(opt_words(o + 1), "qemu"));
	assert_null(opt_words(table));
}

static void test_gib(void **state)
{
	static const char *const bad[] = { "0", "-1", "nan", "inf", "0x10", "1GiB", " 1", "1 ", "1e30", "1e-9", "" };
	struct err e;
	double n;

	(void)state;
	assert_int_equal(opt_parse_gib("4", &n, &e), 0);
	assert_true(n > 3.9 && n < 4.1);
	assert_int_equal(opt_parse_gib("0.5", &n, &e), 0);
	assert_true(n > 0.49 && n < 0.51);
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

static void test_help(void **state)
{
	char text[2000];
	FILE *f = fmemopen(text, sizeof(text), "w");

	(void)state;
	opts_print(table, f);
	fclose(f);
	assert_non_null(strstr(text, "  -f, --flag"));
	assert_non_null(strstr(text, "      --memory GIB           a size\n"));
	assert_non_null(strstr(text, "      --set EXPRESSION       several"));
	assert_non_null(strstr(text, "      --much-too-long-a-name VALUE\n                             text\n"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_values),   cmocka_unit_test(test_flags_take_an_optional_value),
		cmocka_unit_test(test_in_order), cmocka_unit_test(test_errors),
		cmocka_unit_test(test_gib),      cmocka_unit_test(test_duration),
		cmocka_unit_test(test_help),     cmocka_unit_test(test_lists),
		cmocka_unit_test(test_words),    cmocka_unit_test(test_too_long_a_list),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
