#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka wants these first */
#include <cmocka.h>

#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "limactl-c/base/mem.h"
#include "limactl-c/yaml/yscalar.h"
#include "limactl-c/yaml/parse.h"

static struct yn_pool *pool;

static const struct ynode *parse(const char *text, struct findings *f)
{
	*f = (struct findings){ 0 };
	return yn_parse(pool, "f.yaml", text, strlen(text), f);
}

/* The tree of a text that is right. */
static const struct ynode *tree(const char *text)
{
	struct findings f;
	const struct ynode *doc = parse(text, &f);

	if (f.count)
		fail_msg("%s: %s", text, f.item[0].text);
	assert_non_null(doc);
	return doc;
}

/* The text is refused with this, at this place. */
static void assert_refused(const char *text, size_t len, unsigned line, unsigned column,
			   const char *what)
{
	struct findings f = { 0 };
	yn_parse(pool, "f.yaml", text, len, &f);
	assert_int_not_equal(f.errors, 0);
	if (!strstr(f.item[0].text, what) || f.item[0].at.line != line ||
	    f.item[0].at.column != column)
		fail_msg("%u:%u: %s, not %u:%u: %s", f.item[0].at.line, f.item[0].at.column,
			 f.item[0].text, line, column, what);
	findings_fini(&f);
}

static void test_every_value_knows_its_line_and_column(void **state)
{
	const struct ynode *doc = tree("# c\na: 1\nlist:\n- x\n-   {k: \"v\"}\n");
	const struct ynode *root = doc, *list = root->item[1], *map = list->item[1];

	(void)state;
	assert_int_equal(root->count, 2);
	assert_int_equal(root->item[0]->line, 2);
	assert_int_equal(root->item[0]->column, 4);
	assert_int_equal(list->kind, YN_LIST);
	assert_int_equal(list->item[0]->line, 4);
	assert_int_equal(map->key[0]->line, 5);
	assert_int_equal(map->item[0]->column, 9);
	assert_string_equal(map->item[0]->text, "v");
}

static void test_plain_scalars_follow_the_core_schema(void **state)
{
	static const struct {
		const char *yaml;
		enum yn_kind kind;
	} rows[] = {
		{ "null", YN_NULL },        { "~", YN_NULL },         { "", YN_NULL },
		{ "NULL", YN_NULL },        { "nULL", YN_STRING },    { "true", YN_BOOL },
		{ "FALSE", YN_BOOL },       { "yes", YN_STRING },     { "on", YN_STRING },
		{ "12", YN_INT },           { "-3", YN_INT },         { "+3", YN_INT },
		{ "0o17", YN_INT },         { "0x1F", YN_INT },       { "0b1", YN_STRING },
		{ "1_000", YN_STRING },     { "1.5", YN_FLOAT },      { ".5", YN_FLOAT },
		{ "1.", YN_FLOAT },         { "1e3", YN_FLOAT },      { "-.inf", YN_FLOAT },
		{ ".nan", YN_FLOAT },       { "1e", YN_STRING },      { "12:30", YN_STRING },
		{ "0x", YN_STRING },        { "0o8", YN_STRING },     { "-", YN_LIST },
		{ "'12'", YN_STRING },      { "\"\"", YN_STRING },    { "!!str 12", YN_STRING },
		{ "! 12", YN_STRING },      { "!!int 12", YN_INT },   { "2001-01-01", YN_STRING },
		{ "|\n  12\n", YN_STRING }, { "!!null ''", YN_NULL },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		auto_free char *text = xasprintf("- %s\n", rows[i].yaml);
		const struct ynode *doc = tree(text);

		if (doc->item[0]->kind != rows[i].kind)
			fail_msg("%s is %s", rows[i].yaml,
				 yn_kind_word(doc->item[0]->kind));
		}
}

static void test_whole_numbers_of_every_base(void **state)
{
	uint64_t n;
	int64_t i;

	(void)state;
	assert_true(yscalar_uint("0", &n) && n == 0);
	assert_true(yscalar_uint("+17", &n) && n == 17);
	assert_true(yscalar_uint("0o17", &n) && n == 15);
	assert_true(yscalar_uint("0xFf", &n) && n == 255);
	assert_true(yscalar_uint("18446744073709551615", &n) && n == UINT64_MAX);
	assert_false(yscalar_uint("18446744073709551616", &n));
	assert_false(yscalar_uint("-1", &n));
	assert_false(yscalar_uint("", &n));
	assert_false(yscalar_uint("1.5", &n));
	assert_false(yscalar_int("-0x1f", &i));
	assert_true(yscalar_int("-0", &i) && i == 0);
	assert_true(yscalar_int("-17", &i) && i == -17);
	assert_true(yscalar_int("0x7fffffffffffffff", &i) && i == INT64_MAX);
	assert_true(yscalar_int("-9223372036854775808", &i) && i == INT64_MIN);
	assert_false(yscalar_int("-9223372036854775809", &i));
	assert_false(yscalar_int("9223372036854775808", &i));
	assert_false(yscalar_int("-18446744073709551617", &i));
}

static void test_nothing_is_an_empty_mapping(void **state)
{
	static const char *const texts[] = {
		"",       "\n\n",         "# only a comment\n",  "---\n",           "---\n...\n",
		"null\n", "\xef\xbb\xbf", "\xef\xbb\xbf# c\r\n", "%YAML 1.2\n---\n"
	};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		const struct ynode *doc = tree(texts[i]);

		assert_int_equal(doc->kind, YN_MAP);
		assert_int_equal(doc->count, 0);
		}
}

static void test_byte_order_mark_and_crlf_change_nothing(void **state)
{
	const struct ynode *doc = tree("\xef\xbb\xbf"
				  "a: 1\r\nb: |\r\n  x\r\n   y\r\n");
	const struct ynode *root = doc;

	(void)state;
	assert_int_equal(root->count, 2);
	assert_string_equal(root->key[0]->text, "a");
	assert_string_equal(root->item[0]->text, "1");
	assert_string_equal(root->item[1]->text, "x\n y\n");
	assert_int_equal(root->key[1]->line, 2);
}

static void test_duplicate_keys_name_both_lines_and_the_first_stays(void **state)
{
	struct findings f;
	const struct ynode *doc = parse("cpus: 2\nx: {a: 1, 'a': 2}\ncpus: 4\n", &f);

	(void)state;
	assert_non_null(doc);
	assert_int_equal(f.errors, 2);
	assert_string_equal(f.item[0].text, "key `a` is given twice, first on line 2");
	assert_string_equal(f.item[1].text, "key `cpus` is given twice, first on line 1");
	assert_int_equal(f.item[1].at.line, 3);
	assert_string_equal(doc->item[0]->text, "2");
	findings_fini(&f);
}

static void test_aliases_share_and_are_counted(void **state)
{
	const struct ynode *doc = tree("a: &x {k: 1}\nb: *x\nc: &s text\nd: *s\na2: &x 5\ne: *x\n");
	const struct ynode *root = doc;

	(void)state;
	assert_true(root->item[1]->aliased);
	assert_ptr_equal(root->item[0]->item, root->item[1]->item);
	assert_string_equal(root->item[3]->text, "text");
	assert_string_equal(root->item[5]->text, "5");
}

#define REFUSED(text, line, column, what) assert_refused(text, sizeof(text) - 1, line, column, what)

static void test_what_is_not_yaml_is_refused_where_it_is(void **state)
{
	(void)state;
	REFUSED("a: b: c\n", 1, 5, "mapping values are not allowed in this context; indent it");
	REFUSED("a: 1\n\tb: 2\n", 2, 1, "; YAML is indented by spaces, not by tabs");
	REFUSED("\xef\xbb\xbf" "a: [é]\n\tb: 2\n", 2, 1, "; YAML is indented by spaces, not by tabs");
	REFUSED("a: @b\n", 1, 4, "; a text that begins so needs quotes");
	REFUSED("a: [1, 2\nb: 3\n", 2, 2, "did not find expected");
	REFUSED("a: \"x\n", 2, 1, "unexpected end of stream");
	REFUSED("a: 1\nb: \xff\n", 2, 4, "UTF-8");
	REFUSED("a: 1\nb: x\0y\n", 2, 5, "control characters");
	REFUSED("a: *nothing\n", 1, 4, "names no earlier anchor");
	REFUSED("a: &x [1, *x]\n", 1, 11, "contains itself");
	REFUSED("a: 1\n---\nb: 2\n", 2, 1, "second document");
	REFUSED("? [a]\n: 1\n", 1, 3, "a key must be a word");
	REFUSED("!!binary aGk=: 1\n", 1, 1, "a key must be a word");
	REFUSED("a: !!set {}\n", 1, 4, "is not supported");
	REFUSED("a: !x y\n", 1, 4, "is not supported");
	REFUSED("a: !!binary aGk=a\n", 1, 4, "not base64");
	REFUSED("a: !!int x\n", 1, 4, "is not supported");
	REFUSED("a: !!float x\n", 1, 4, "is not supported");
	REFUSED("\"a\\0b\": 1\n", 1, 1, "NUL");
}

static void test_depth_is_bounded_with_and_without_aliases(void **state)
{
	char text[1000] = "";
	struct findings f;
	size_t n;

	(void)state;
	for (n = 0; n < YN_DEPTH_MAX; n++)
		text[n] = '[';
	memset(text + n, ']', n);
	tree(text);
	memset(text, '[', n + 1);
	memset(text + n + 1, ']', n + 1);
	REFUSED("[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[", 1, 65,
		"nested more than 64 deep");
	assert_null(parse(text, &f));
	findings_fini(&f);
	/* 40 levels named, then used 40 levels down */
	n = (size_t)snprintf(text, sizeof(text), "a: &x ");
	memset(text + n, '[', 40);
	memset(text + n + 40, ']', 40);
	n += 80;
	n += (size_t)snprintf(text + n, sizeof(text) - n, "\nb: ");
	memset(text + n, '[', 40);
	snprintf(text + n + 40, sizeof(text) - n - 40, "*x");
	assert_null(parse(text, &f));
	assert_non_null(strstr(f.item[0].text, "nested more than 64 deep"));
	findings_fini(&f);
}

/* Nine levels of nine aliases each; with merge keys when merge is set. */
static size_t make_bomb(char *text, size_t size, bool merge)
{
	size_t n = (size_t)snprintf(text, size, merge ? "a: &a {x: 1}\n" : "a: &a [x,x,x,x,x,x,x,x,x]\n");

	for (char c = 'b'; c <= 'i'; c++) {
		n += (size_t)snprintf(text + n, size - n, merge ? "%c: &%c {<<: [" : "%c: &%c [", c, c);
		for (int i = 0; i < 9; i++)
			n += (size_t)snprintf(text + n, size - n, "%s*%c", i ? "," : "", c - 1);
		n += (size_t)snprintf(text + n, size - n, merge ? "]}\n" : "]\n");
	}
	return n;
}

/* In a process of its own, so that its peak is that of the bomb. */
static void refuse_bomb(bool merge)
{
	struct rusage before, after;
	char text[2000];
	size_t n = make_bomb(text, sizeof(text), merge);
	struct findings f = { 0 };
	long ms;

	getrusage(RUSAGE_SELF, &before);
	if (yn_parse(pool, "f.yaml", text, n, &f) || !strstr(f.item[0].text, "more than 50000 values"))
		_exit(1);
	getrusage(RUSAGE_SELF, &after);
	ms = (after.ru_utime.tv_sec - before.ru_utime.tv_sec) * 1000 +
	     (after.ru_utime.tv_usec - before.ru_utime.tv_usec) / 1000;
	if (ms >= 100)
		_exit(2);
	if (yn_pool_size(pool) > 1 << 20)
		_exit(3);
	_exit(after.ru_maxrss - before.ru_maxrss > 20 << 10 ? 4 : 0);
}

static void test_an_alias_bomb_is_refused_fast_and_small(void **state)
{
	(void)state;
	for (int merge = 0; merge < 2; merge++) {
		int status;
		pid_t child = fork();

		assert_true(child >= 0);
		if (!child)
			refuse_bomb(merge);
		assert_int_equal(waitpid(child, &status, 0), child);
		assert_true(WIFEXITED(status));
		assert_int_equal(WEXITSTATUS(status), 0);
	}
}

static void test_number_of_values_and_size_of_the_text_are_bounded(void **state)
{
	size_t n = 2 * (YN_NODES_MAX + 1);
	auto_free char *many = xmalloc(n + 2), *large = xcalloc(1, YN_TEXT_MAX + 2);
	struct findings f = { 0 };

	(void)state;
	many[0] = '[';
	for (size_t i = 0; i < YN_NODES_MAX; i++)
		memcpy(many + 1 + 2 * i, "1,", 2);
	many[1 + 2 * YN_NODES_MAX] = ']';
	assert_null(yn_parse(pool, "f.yaml", many, 2 + 2 * YN_NODES_MAX, &f));
	assert_non_null(strstr(f.item[0].text, "more than 50000 values"));
	findings_fini(&f);
	memset(large, '#', YN_TEXT_MAX + 1);
	assert_null(yn_parse(pool, "f.yaml", large, YN_TEXT_MAX + 1, &f));
	assert_non_null(strstr(f.item[0].text, "larger than 4 MiB"));
	findings_fini(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_value_knows_its_line_and_column),
		cmocka_unit_test(test_plain_scalars_follow_the_core_schema),
		cmocka_unit_test(test_whole_numbers_of_every_base),
		cmocka_unit_test(test_nothing_is_an_empty_mapping),
		cmocka_unit_test(test_byte_order_mark_and_crlf_change_nothing),
		cmocka_unit_test(test_duplicate_keys_name_both_lines_and_the_first_stays),
		cmocka_unit_test(test_aliases_share_and_are_counted),
		cmocka_unit_test(test_what_is_not_yaml_is_refused_where_it_is),
		cmocka_unit_test(test_depth_is_bounded_with_and_without_aliases),
		cmocka_unit_test(test_an_alias_bomb_is_refused_fast_and_small),
		cmocka_unit_test(test_number_of_values_and_size_of_the_text_are_bounded),
	};

	int rc;

	pool = yn_pool_new();
	rc = cmocka_run_group_tests(tests, NULL, NULL);
	yn_pool_free(pool);
	return rc;
}
