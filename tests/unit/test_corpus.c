/* Texts that are legal and rarely seen (tests/golden/templates) and the templates shipped: written and read again they
 * are the same, a change touches nothing else, and every key of the table has an example. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka wants these first */
#include <cmocka.h>

#include <glob.h>
#include <string.h>

#include "lib/io.h"
#include "limactl-c/config/schema.h"
#include "limactl-c/yaml/emit.h"
#include "limactl-c/yaml/parse.h"
#include "limactl-c/yaml/patch.h"

struct doc {
	const char *path;
	const struct buf *text;
	struct yn_pool *pool;
	const struct ynode *root;
};

static const struct ynode *parse(struct yn_pool *p, const char *path, const struct buf *text)
{
	struct err e;
	const struct ynode *root = yn_parse_one(p, path, text->data, text->len, &e);

	if (!root)
		fail_msg("%s", e.msg);
	return root;
}

static size_t for_each_doc(const char *pattern, void (*check)(const struct doc *d))
{
	glob_t found;
	size_t count;

	assert_int_equal(glob(pattern, 0, NULL, &found), 0);
	count = found.gl_pathc;
	for (size_t i = 0; i < count; i++) {
		const char *path = found.gl_pathv[i];
		auto_pool p = yn_pool_new();
		auto_buf text = BUF_INIT(YN_TEXT_MAX);
		struct err e;

		assert_int_equal(io_read_file(path, &text, &e), 0);
		check(&(struct doc){ path, &text, p, parse(p, path, &text) });
	}
	globfree(&found);
	return count;
}

static void for_all(void (*check)(const struct doc *d))
{
	size_t corpus = for_each_doc("tests/golden/templates/*.yaml", check);
	size_t shipped = for_each_doc("templates/*.yaml", check) + for_each_doc("templates/*/*.yaml", check);

	assert_true(corpus >= 10 && shipped >= 20);
}

/* Put into another document, with the lines it was written in. */
static void taken_over_is_read_as_the_same(const struct doc *d, const struct ynode *n)
{
	auto_buf none = BUF_INIT(3), out = BUF_INIT(YN_TEXT_MAX);
	struct err e;

	buf_adds(&none, "{}\n");
	if (yn_patch(parse(d->pool, d->path, &none), n, &out, &e) < 0)
		fail_msg("%s", e.msg);
	if (!yn_same(n, parse(d->pool, d->path, &out)))
		fail_msg("%s: it became\n%s", d->path, out.data);
}

static void written_is_read_as_the_same(const struct doc *d)
{
	struct findings f = { 0 };
	struct ynode *merged = yn_merge_keys(d->pool, d->root, &f);
	const struct ynode *trees[] = { d->root, yn_copy(d->pool, d->root), merged };

	assert_int_equal(f.count, 0);
	for (size_t i = 0; i < 3; i++) {
		auto_buf once = BUF_INIT(YN_TEXT_MAX);
		auto_buf twice = BUF_INIT(YN_TEXT_MAX);
		const struct ynode *again;

		assert_int_equal(yn_emit(trees[i], &once), 0);
		again = parse(d->pool, d->path, &once);
		if (!yn_same(trees[i], again))
			fail_msg("%s, tree %zu: it became\n%s", d->path, i, once.data);
		assert_int_equal(yn_emit(again, &twice), 0);
		assert_string_equal(once.data, twice.data);
		taken_over_is_read_as_the_same(d, trees[i]);
	}
}

static void test_written_is_read_as_the_same(void **state)
{
	(void)state;
	for_all(written_is_read_as_the_same);
}

static void json_is_read_as_the_same(const struct doc *d)
{
	for (unsigned indent = 0; indent <= 4; indent += 4) {
		auto_buf json = BUF_INIT(YN_TEXT_MAX);
		auto_buf again = BUF_INIT(YN_TEXT_MAX);

		assert_int_equal(yn_json(d->root, indent, &json), 0);
		assert_int_equal(yn_json(parse(d->pool, d->path, &json), indent, &again), 0);
		assert_string_equal(json.data, again.data);
	}
}

static void test_json_is_read_as_the_same(void **state)
{
	(void)state;
	for_all(json_is_read_as_the_same);
}

/* Patches the text with the tree; lets at most so many bytes of the old text go, and so many come. */
static void assert_small_edit(const struct doc *d, const struct ynode *now, size_t less, size_t more)
{
	auto_buf out = BUF_INIT(YN_TEXT_MAX);
	const char *old = d->text->data;
	size_t front = 0, back = 0;
	struct err e;

	if (yn_patch(d->root, now, &out, &e) < 0)
		fail_msg("%s: %s", d->path, e.msg);
	while (front < d->text->len && front < out.len && old[front] == out.data[front])
		front++;
	while (back < d->text->len - front && back < out.len - front &&
	       old[d->text->len - 1 - back] == out.data[out.len - 1 - back])
		back++;
	if (d->text->len - front - back > less || out.len - front - back > more)
		fail_msg("%s: %zu bytes became %zu:\n%s", d->path, d->text->len - front - back, out.len - front - back,
			 out.data);
	assert_true(yn_same(parse(d->pool, d->path, &out), now));
}

/* Keys written with "?" are not changed in place. */
static bool refuses_edits(const struct doc *d)
{
	return strstr(d->path, "explicit-keys");
}

static void edits_are_small(const struct doc *d)
{
	struct ynode *now = yn_copy(d->pool, d->root);

	if (refuses_edits(d))
		return;
	assert_small_edit(d, now, 0, 0);
	yn_set(d->pool, now, "cpus", yn_int(d->pool, 77));
	assert_small_edit(d, now, strlen("!!int \"2\""), strlen("\r\n\"cpus\": 77,"));
	now = yn_copy(d->pool, d->root);
	yn_set(d->pool, now, "timezone", yn_string(d->pool, "Asia/Tokyo"));
	assert_small_edit(d, now, strlen("Europe/Berlin"), strlen("\r\n\"timezone\": \"Asia/Tokyo\","));
}

static void test_edits_are_small(void **state)
{
	(void)state;
	for_all(edits_are_small);
}

/* A script put into a list, by an expression on any of the texts, comes out byte for byte. */
static void scripts_survive(const struct doc *d)
{
	static const char *const scripts[] = {
		"#!/bin/sh\necho one\n", "no line end", "two\n\n", "\n\nfirst lines empty\n", "\ttab first\n",
		"  blanks first\n", "windows\r\nlines\r\n", "# only a comment", "\n", " ", "", "trailing blanks  \n  \n",
		"'quotes' \"of both\" kinds: {{.User}} # none\n", "bell \a and \x1b[0m\n", "\xe2\x82\xac \xf0\x9f\x98\x80\n",
	};
	struct ynode *now = yn_copy(d->pool, d->root);
	struct ynode *list = yn_list(d->pool);
	auto_buf out = BUF_INIT(YN_TEXT_MAX);
	struct err e;

	if (refuses_edits(d))
		return;
	for (size_t i = 0; i < sizeof(scripts) / sizeof(*scripts); i++) {
		struct ynode *entry = yn_map(d->pool), *text = yn_string(d->pool, scripts[i]);

		text->style = YN_LITERAL;
		yn_set(d->pool, entry, "script", text);
		yn_add(d->pool, list, entry);
	}
	yn_set(d->pool, now, "provision", list);
	if (yn_patch(d->root, now, &out, &e) < 0)
		fail_msg("%s: %s", d->path, e.msg);
	list = yn_get(parse(d->pool, d->path, &out), "provision");
	for (size_t i = 0; i < sizeof(scripts) / sizeof(*scripts); i++)
		assert_string_equal(yn_get(list->item[i], "script")->text, scripts[i]);
}

static void test_scripts_survive(void **state)
{
	(void)state;
	for_all(scripts_survive);
}

/* What the scripts of scalars.yaml say. */
static void scalars_say(const struct doc *d)
{
	static const char *const scripts[] = {
		"#!/bin/sh\necho \"clipped: one line end\"\n",
		"#!/bin/sh\necho \"stripped: no line end\"",
		"#!/bin/sh\necho \"kept: two empty lines follow\"\n\n\n",
		"  #!/bin/sh stands behind two blanks\n and this behind one: the indicator says that four are "
		"indentation\n",
		" one blank of this line belongs to the text",
		"#!/bin/sh folded into one line\na new paragraph\n  more indented lines\n  stay as they are\nand the end\n",
		"#!/bin/sh folded, stripped",
		"#!/bin/sh folded, kept\n\n\n",
		"#!/bin/sh\necho \"double\": tab \t, bell \a, A\xc3\xa9\xf0\x9f\x98\x80 continued, \nand a line end\n",
		"#!/bin/sh\necho 'single', folded\ntwice",
		"plain over two lines",
		"\t#!/bin/sh begins with a tab\n\ttabs stay\there and at the end\t\n",
		"# not a comment, but text\n  deeper\n#\ntrailing blanks stay   \n",
		"#!/bin/sh\n{{/* a template's comment */}}docker inspect -f '{{.State}}' x\n",
	};
	const struct ynode *list = yn_get(d->root, "provision");

	assert_int_equal(list->count, sizeof(scripts) / sizeof(*scripts));
	for (size_t i = 0; i < list->count; i++)
		assert_string_equal(yn_get(list->item[i], "script")->text, scripts[i]);
}

static void test_block_scalars_are_read_byte_for_byte(void **state)
{
	(void)state;
	assert_int_equal(for_each_doc("tests/golden/templates/scalars.yaml", scalars_say), 1);
}

static bool has(const struct ynode *n, const char *path)
{
	size_t len = strcspn(path, ".[");
	const struct ynode *value;

	if (!*path)
		return true;
	if (!strncmp(path, "[]", 2)) {
		path += path[2] == '.' ? 3 : 2;
		for (size_t i = 0; n && n->kind == YN_LIST && i < n->count; i++)
			if (has(n->item[i], path))
				return true;
		return false;
	}
	if (!n || n->kind != YN_MAP || yn_find(n, path, len) == n->count)
		return false;
	value = n->item[yn_find(n, path, len)];
	return has(value, path + len + (path[len] == '.'));
}

static bool seen[1000];

static void look_for_keys(const struct doc *d)
{
	for (size_t i = 0; i < schema_count; i++)
		seen[i] = seen[i] || has(d->root, schema[i].path);
}

static void test_every_key_has_an_example(void **state)
{
	(void)state;
	assert_true(schema_count <= sizeof(seen));
	for_each_doc("tests/golden/templates/every-key.yaml", look_for_keys);
	for (size_t i = 0; i < schema_count; i++)
		if (!seen[i])
			fail_msg("tests/golden/templates/every-key.yaml has no %s", schema[i].path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_written_is_read_as_the_same),
		cmocka_unit_test(test_json_is_read_as_the_same),
		cmocka_unit_test(test_edits_are_small),
		cmocka_unit_test(test_scripts_survive),
		cmocka_unit_test(test_block_scalars_are_read_byte_for_byte),
		cmocka_unit_test(test_every_key_has_an_example),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
