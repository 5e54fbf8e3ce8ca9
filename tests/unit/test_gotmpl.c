/* Templates against what Go answered (tests/golden/gotmpl/go.txt), and what Go does not have: bounds, folding, fields that may
 * be missing. Run from the repository's root. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka wants these first */
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "lib/io.h"
#include "limactl-c/base/mem.h"
#include "limactl-c/gotmpl/gotmpl.h"
#include "limactl-c/yaml/parse.h"

enum { TEXT_MAX = 4 << 20 };

static struct yn_pool *pool;

static const struct ynode *tree(const char *text)
{
	struct err e;
	const struct ynode *n = yn_parse_one(pool, "data", text, strlen(text), &e);

	if (!n)
		fail_msg("%s: %s", text, e.msg);
	return n;
}

/* A line's rest as it stands, or the text of the JSON string it is. */
static const struct ynode *line_text(const char *rest)
{
	return *rest == '"' && strlen(rest) > 1 && rest[strlen(rest) - 1] == '"' ? tree(rest) : yn_string(pool, rest);
}

struct answer {
	char *template; /* as in the file */
	bool gives, refused;
	const struct ynode *text;
	unsigned line;
};

/* How many of the answers are not ours; the difference is printed. */
static int compare(const struct answer *a, const struct ynode *data, bool strict)
{
	const struct gotmpl_options o = { .any_missing = !strict };
	const struct ynode *template = line_text(a->template);
	auto_buf out = BUF_INIT(TEXT_MAX);
	struct err e = { 0 };
	unsigned line = 0;
	int rc = gotmpl_render(template->text, template->len, data, &o, &out, &line, &e);

	if (a->gives && a->refused ? rc < 0 && *e.msg
	    : a->gives             ? rc == 0 && out.len == a->text->len && !memcmp(out.data ? out.data : "", a->text->text, out.len)
				   : rc < 0 && line == a->line && *e.msg)
		return 0;
	if (rc < 0)
		print_message("%s\n  ours: error %u: %s\n  Go's: %s %u\n", a->template, line, e.msg,
			      a->gives ? a->text->text : "error", a->line);
	else
		print_message("%s\n  ours: %s\n  Go's: %s %u\n", a->template, out.data ? out.data : "",
			      a->gives ? a->text->text : "error", a->line);
	return 1;
}

static void test_templates_give_what_go_gives(void **state)
{
	auto_buf file = BUF_INIT(TEXT_MAX);
	const struct ynode *data = NULL;
	struct answer a = { 0 };
	bool strict = false;
	int wrong = 0, count = 0;
	struct err e;
	char *rest;

	(void)state;
	if (io_read_file("tests/golden/gotmpl/go.txt", &file, &e) < 0)
		fail_msg("%s", e.msg);
	rest = file.data;
	while (rest) {
		char *line = strsep(&rest, "\n");

		if (a.template && strncmp(line, "gives ", 6) && strncmp(line, "error ", 6) && strcmp(line, "refused")) {
			wrong += compare(&a, data, strict);
			count++;
			a = (struct answer){ 0 };
		}
		if (!strncmp(line, "data ", 5))
			data = tree(line + 5);
		else if (!strcmp(line, "strict") || !strcmp(line, "lax"))
			strict = *line == 's';
		else if (!strncmp(line, "template ", 9))
			a = (struct answer){ .template = line + 9 };
		else if (!strncmp(line, "gives ", 6))
			a.gives = true, a.text = line_text(line + 6);
		else if (!strncmp(line, "error ", 6))
			a.line = (unsigned)atoi(line + 6);
		else if (!strcmp(line, "refused"))
			a.refused = true;
		else if (*line && *line != '#')
			fail_msg("what is \"%s\"?", line);
	}
	assert_in_range(count, 350, 10000);
	if (wrong)
		fail_msg("%d of %d differ", wrong, count);
}

/* What the template gives; "LINE: error" when it is refused. */
static char *render(const char *template, size_t len, const char *data, const struct gotmpl_options *o)
{
	auto_buf out = BUF_INIT(TEXT_MAX);
	struct err e = { 0 };
	unsigned line = 0;

	assert_int_equal(buf_adds(&out, "before "), 0);
	if (gotmpl_render(template, len, tree(data), o, &out, &line, &e) == 0)
		return yn_strndup(pool, out.data + 7, out.len - 7);
	assert_int_equal(out.len, 7);
	assert_string_equal(out.data, "before ");
	return yn_printf(pool, "%u: %s", line, e.msg);
}

static void assert_gives(const char *template, const char *data, const struct gotmpl_options *o, const char *what)
{
	assert_string_equal(render(template, strlen(template), data, o), what);
}

static void test_errors_say_what_is_wrong_and_where(void **state)
{
	static const struct {
		const char *template, *says;
	} rows[] = {
		{ "a\n{{.State}}", "2: there is no field \"State\"" },
		{ "{{.s.State}}", "1: there is no field \"State\" in text" },
		{ "a\n{{if .s}}\nb\n", "2: a block has no {{end}}" },
		{ "a\n{{if .s}}\nb{{else}}\n", "2: a block has no {{end}}" },
		{ "\n\n{{if .s}}a{{else}}b{{else}}c{{end}}", "3: a block has two {{else}}" },
		{ "\n{{end}}", "2: {{end}} without a block" },
		{ "{{.s", "1: an action has no end: }} is missing" },
		{ "{{Names}}", "1: there is no function \"Names\"" },
		{ "{{$x}}", "1: there is no variable $x" },
		{ "{{define \"x\"}}{{end}}",
		  "1: unexpected \"define\" begins an action: templates inside templates are not supported" },
		{ "{{.\xc3\xa9}}",
		  "1: names hold letters a-z, A-Z, digits and _ here; index gets what has another name" },
		{ "{{1_000}}", "1: \"1_000\" is no number that can be used here: no _, no i, at most 63 characters" },
		{ "{{js .s}}", "1: the function js is not supported" },
		{ "{{printf \"%d\" .s}}", "1: printf: %d does not fit text; use %v" },
		{ "{{printf \"%e\" 1.5}}",
		  "1: printf: %e is not supported; %v, %s, %d, %q, %x, %t and %f are" },
		{ "{{printf \"%d\"}}", "1: printf: there is no value for %d" },
		{ "{{printf \"a\" 1}}", "1: printf: 1 values more than the format writes" },
		{ "{{range .s}}{{end}}", "1: range takes a list, a mapping or a whole number, not text" },
		{ "{{eq 1 \"a\"}}", "1: eq cannot compare a whole number with text" },
		{ "{{len}}", "1: len takes 1 argument, not 0" },
		{ "{{.large}}", "1: 9223372036854775808 is too large: whole numbers have 64 bits" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		assert_gives(rows[i].template, "{s: text, large: 9223372036854775808}", &(struct gotmpl_options){ 0 }, rows[i].says);
}

static void test_fields_are_found_in_any_case_when_asked(void **state)
{
	const struct gotmpl_options fold = { .fold = true };
	const char *data = "{config: {cpus: 4, CPUS: 5, vmType: qemu}}";

	(void)state;
	assert_gives("{{.Config.cpus}} {{.CONFIG.CPUS}} {{.Config.CPUs}} {{.Config.VMType}}", data, &fold, "4 5 4 qemu");
	assert_gives("{{.Config}}", data, &(struct gotmpl_options){ 0 }, "1: there is no field \"Config\"; did you mean \"config\"?");
	assert_gives("{{.Configs}}", data, &fold, "1: there is no field \"Configs\"; did you mean \"config\"?");
}

/* Fields of an open map may be missing where they are only asked for. */
static void test_an_open_map_may_lack_fields_in_conditions(void **state)
{
	const struct gotmpl_options o = { .open = "Param" };
	const char *data = "{Param: {a: x, m: {}, l: [{x: 1}]}, Other: {a: x}}";

	(void)state;
	assert_gives("{{if .Param.b}}yes{{else}}no{{end}}{{if not .Param.b}}!{{end}}", data, &o, "no!");
	assert_gives("{{if eq .Param.b \"x\"}}yes{{else}}no{{end}}{{or .Param.b 1}}{{index .Param \"b\"}}.", data, &o, "no1.");
	assert_gives("{{with .Param.b}}yes{{else}}no{{end}}{{range .Param.b}}{{else}}none{{end}}", data, &o, "nonone");
	assert_gives("{{.Param.b}}", data, &o, "1: there is no field \"b\"");
	assert_gives("{{$x := .Param.b}}\n{{$x}}", data, &o, "2: there is no field \"b\"");
	assert_gives("{{print .Param.b}}", data, &o, "1: there is no field \"b\"");
	assert_gives("{{.Param.b.c}}", data, &o, "1: there is no field \"b\"");
	assert_gives("{{if .Param.b.c}}{{else}}none{{end}}", data, &o, "none");
	assert_gives("{{if .Param.m.c}}{{else}}none{{end}}{{range .Param.l}}{{if .y}}{{else}}!{{end}}{{end}}", data, &o, "none!");
	assert_gives("{{if .Param.a.c}}{{end}}", data, &o, "1: there is no field \"c\" in text");
	assert_gives("{{if .Other.b}}{{end}}", data, &o, "1: there is no field \"b\"");
	assert_gives("{{if .Params}}{{end}}", data, &o, "1: there is no field \"Params\"; did you mean \"Param\"?");
	assert_gives("{{if .A.b.c}}{{end}}{{.Other.a}}", data, &(struct gotmpl_options){ .open = "" }, "x");
	assert_gives("{{.A.b}}", data, &(struct gotmpl_options){ .open = "" }, "1: there is no field \"A\"");
}

static void test_limas_functions_are_for_lists_only(void **state)
{
	const struct gotmpl_options go = { .go_only = true }, all = { 0 };

	(void)state;
	assert_gives("{{json .}}", "{a: 1}", &go, "1: there is no function \"json\"");
	assert_gives("{{json .}}", "{b: [1, x], a: 1}", &all, "{\"b\":[1,\"x\"],\"a\":1}");
	assert_gives("{{yaml .}}", "{b: [1, x], a: {c: \"1\"}}", &all, "---\nb:\n- 1\n- x\na:\n  c: \"1\"");
	assert_gives("{{yaml .a}}", "{a: x}", &all, "---\nx");
}

static void test_what_never_ends_is_ended(void **state)
{
	const struct gotmpl_options o = { 0 };
	auto_buf deep = BUF_INIT(TEXT_MAX), many = BUF_INIT(TEXT_MAX), parens = BUF_INIT(TEXT_MAX), small = BUF_INIT(10);
	struct err e;

	(void)state;
	for (int i = 0; i < 101; i++) {
		assert_int_equal(buf_adds(&deep, "{{if 1}}"), 0);
		assert_int_equal(buf_adds(&parens, i ? "(" : "{{("), 0);
	}
	for (int i = 0; i < 1001; i++)
		assert_int_equal(buf_adds(&many, "{{$x := 1}}"), 0);
	assert_gives("\n{{range 1000000000}}{{end}}", "{}", &o, "2: the template needs more than 200000 steps");
	assert_gives("{{range 1000}}{{range 1000}}{{range 1000}}{{end}}{{end}}{{end}}", "{}", &o,
		     "1: the template needs more than 200000 steps");
	assert_gives("{{$x := \"0123456789abcdef\"}}{{range 100}}{{$x = print $x $x}}{{end}}", "{}", &o,
		     "1: the text becomes too long");
	assert_gives("{{range 90000}}0123456789abcdef0123456789abcdef0123456789abcdef{{end}}", "{}", &o,
		     "1: the text becomes too long");
	assert_gives("{{printf \"%1000000d\" 1}}", "{}", &o, "1: printf: a width or precision of more than 1000");
	assert_gives("{{indent 100000 \"a\"}}", "{}", &o, "1: indent takes 0 to 1000 spaces, not 100000");
	assert_gives(deep.data, "{}", &o, "1: more than 100 levels of blocks and parentheses");
	assert_gives(parens.data, "{}", &o, "1: more than 100 levels of blocks and parentheses");
	assert_gives(many.data, "{}", &o, "1: more than 1000 variables");
	assert_int_equal(gotmpl_render("0123456789a", 11, tree("{}"), &o, &small, NULL, &e), -1);
	assert_string_equal(e.msg, "the text becomes too long");
	assert_int_equal(small.len, 0);
}

static void test_whether_there_is_an_action(void **state)
{
	(void)state;
	assert_true(gotmpl_has_action("a {{.b}}"));
	assert_false(gotmpl_has_action("a { {.b}}"));
}

static int setup(void **state)
{
	(void)state;
	pool = yn_pool_new();
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	yn_pool_free(pool);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_templates_give_what_go_gives),
		cmocka_unit_test(test_errors_say_what_is_wrong_and_where),
		cmocka_unit_test(test_fields_are_found_in_any_case_when_asked),
		cmocka_unit_test(test_an_open_map_may_lack_fields_in_conditions),
		cmocka_unit_test(test_limas_functions_are_for_lists_only),
		cmocka_unit_test(test_what_never_ends_is_ended),
		cmocka_unit_test(test_whether_there_is_an_action),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
