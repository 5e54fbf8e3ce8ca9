/* Expressions as our commands use them: edits, quoting, messages, bounds, where values come from. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka wants these first */
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "lib/buf.h"
#include "limactl-c/yaml/emit.h"
#include "limactl-c/yaml/parse.h"
#include "limactl-c/yq/yq.h"

static struct yn_pool *pool;

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

static struct ynode *tree(const char *text)
{
	struct err e;
	const struct ynode *n = yn_parse_one(pool, "t.yaml", text, strlen(text), &e);

	if (!n)
		fail_msg("%s: %s", text, e.msg);
	return yn_copy(pool, n);
}

static void assert_edit(const char *text, const char *expression, const char *json)
{
	auto_buf out = BUF_INIT(1 << 20);
	struct err e;
	struct ynode *n = yq_edit(pool, expression, tree(text), &e);

	if (!n)
		fail_msg("%s: %s", expression, e.msg);
	assert_int_equal(yn_json(n, 0, &out), 0);
	assert_string_equal(out.data, json);
}

static void assert_refused(const char *text, const char *expression, const char *message)
{
	struct err e = { 0 };

	if (yq_edit(pool, expression, tree(text), &e))
		fail_msg("%s is answered", expression);
	if (!strstr(e.msg, message))
		fail_msg("%s: \"%s\" is not in \"%s\"", expression, message, e.msg);
}

static void test_edits_give_the_whole_document(void **state)
{
	(void)state;
	assert_edit("cpus: 1\n", ".cpus = 4 | .memory = \"4GiB\"", "{\"cpus\":4,\"memory\":\"4GiB\"}");
	assert_edit("", ".cpus = 4", "{\"cpus\":4}");
	assert_edit("a: 1\n", "", "{\"a\":1}");
	assert_refused("a: 1\n", ".a", "gives a whole number, not the changed document");
	assert_refused("a: 1\n", ".b", "gives nothing, not the changed document");
	assert_refused("a: 1\n", ".a, .", "gives 2 results");
	assert_refused("a: 1\n", "del(.)", "gives 0 results");
	assert_refused("a: 1\n", "[.]", "gives a list");
}

static void test_messages_name_the_place(void **state)
{
	(void)state;
	assert_refused("a: 1\n", ".vmType = qemu", "at character 11: qemu is no operator; text needs quotes: \"qemu\"");
	assert_refused("a: 1\n", ".arch = x86_64", "text needs quotes: \"x86_64\"");
	assert_refused("a: 1\n", ".memory = 4GiB", "at character 11: 4GiB is no operator; text needs quotes: \"4GiB\"");
	assert_refused("a: 1\n", ".a = load(\"x\")", "at character 6: `load` is not supported");
	assert_refused("a: 1\n", ".a = env(HOME)", "`env` is not supported");
	assert_refused("a: 1\n", ".a | @base64", "`@base64` is not supported");
	assert_refused("a: 1\n", ".\"ä ö\" = 1", "at character 1: write a key with spaces as [\"a b\"]");
	assert_refused("a: 1\n", "\"äöü\" | nope", "at character 9: nope is no operator");
	assert_refused("a: 1\n", ".a = (1", "is not closed");
	assert_refused("a: 1\n", ".a = \"x", "no closing quote");
	assert_refused("a: 1\n", ".a //= 2", "needs a value on both sides; there is no //=, write .x = (.x // VALUE)");
	assert_refused("a: 1\n", ".a = é", "at character 6: é is no operator; text needs quotes: \"é\"");
	assert_refused("a: x\n", ".b = .a * .a", "at character 9: text cannot be multiplied with text");
	assert_refused("a: 1\n", "error(\"no such thing\")", "at character 1: error: no such thing");
	assert_refused("a: [1]\n", ".a.b = 2", "a list has no \"b\", only numbers");
	assert_refused("a: 2024-01-01\n", ".b = .a + 1", "of another type in YAML 1.1");
	assert_refused("a: 1\n", ".b = \xff", "not UTF-8");
}

static void test_quoting_survives_anything(void **state)
{
	static const char *const texts[] = {
		"", "plain", "say \"hi\"", "back\\slash", "\\\\two", "end\\", "end\\\\", "\\(.a)", "\\\\(.a)",
		"\\\\\\(.a)",
		"a\\nb", "line\nbreak\ttab", "ü€😀", "\\\"", "\\\\\"", "#x", "$(x) `y` {z} [q]", "(", ")",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		struct err e;
		const char *expression = yn_printf(pool, ".x = %s", yq_quote(pool, texts[i]));
		const struct ynode *n = yq_edit(pool, expression, tree("a: 1\n"), &e);

		if (!n)
			fail_msg("%s: %s", expression, e.msg);
		assert_string_equal(yn_get(n, "x")->text, texts[i]);
		expression = yn_printf(pool, ".[%s] = 1", yq_quote(pool, texts[i]));
		n = yq_edit(pool, expression, tree("{}\n"), &e);
		assert_non_null(n);
		assert_string_equal(n->key[0]->text, texts[i]);
	}
}

static void test_what_is_not_changed_keeps_its_origin(void **state)
{
	struct err e;
	struct ynode *root = tree("cpus: 1\nmounts:\n- location: a # one\n- location: b\n");
	struct ynode *n = yq_edit(pool, ".cpus = 2 | .mounts += [{\"location\": \"c\"}]", root, &e), *mounts;

	(void)state;
	assert_non_null(n);
	assert_null(yn_get(n, "cpus")->source);
	assert_ptr_equal(n->origin, root->origin);
	mounts = yn_get(n, "mounts");
	assert_int_equal(mounts->line, 3);
	assert_ptr_equal(mounts->item[1]->origin, root->item[1]->item[1]->origin);
	assert_int_equal(mounts->item[1]->line, 4);
	assert_null(mounts->item[2]->source);
	/* The tree that was given stays as it was, and may be one that was parsed. */
	n = yq_edit(pool, ".cpus = 2", root->origin, &e);
	assert_ptr_equal(n->origin, root->origin);
	assert_string_equal(yn_get(root->origin, "cpus")->text, "1");
	assert_string_equal(yn_get(root, "cpus")->text, "1");
	assert_int_equal(yn_get(root, "mounts")->count, 2);
}

static void test_anchors_are_not_changed_behind_ones_back(void **state)
{
	static const char text[] = "a: &x {k: 1}\nb: *x\nc: {d: [*x]}\ne: 1\n";

	(void)state;
	assert_edit(text, ".e = 2 | .f = .b.k",
		    "{\"a\":{\"k\":1},\"b\":{\"k\":1},\"c\":{\"d\":[{\"k\":1}]},\"e\":2,\"f\":1}");
	assert_edit(text, ".c.d += [2]",
		    "{\"a\":{\"k\":1},\"b\":{\"k\":1},\"c\":{\"d\":[{\"k\":1},2]},\"e\":1}");
	assert_refused(text, ".a.k = 2", "has an anchor (&) or is an alias (*)");
	assert_refused(text, ".b.k = 2", "has an anchor (&) or is an alias (*)");
	assert_refused(text, ".b.new = 2", "has an anchor (&) or is an alias (*)");
	assert_refused(text, "del(.a)", "has an anchor (&) or is an alias (*)");
	assert_refused(text, ". = {\"a\": 1}", "with an anchor (&) in it");
	assert_refused(text, ".f = (.b | length)", "an alias (*) cannot be looked at");
}

/* n times the text. */
static char *repeated(const char *before, const char *text, size_t n, const char *after)
{
	char *out = yn_alloc(pool, strlen(before) + n * strlen(text) + strlen(after) + 1);
	size_t len = strlen(before);

	memcpy(out, before, len);
	for (size_t i = 0; i < n; i++, len += strlen(text))
		memcpy(out + len, text, strlen(text));
	memcpy(out + len, after, strlen(after));
	return out;
}

static void test_bounds(void **state)
{
	(void)state;
	assert_refused("a: 1\n", repeated(".a = \"", "x", 70000, "\""), "longer than 64 KiB");
	assert_refused("a: 1\n", repeated(".b = ", "[", 300, repeated("", "]", 300, "")), "nested more than 200 deep");
	assert_refused("a: 1\n", repeated(".b = ", "(1 + ", 300, repeated("1", ")", 300, "")),
		       "nested more than 200 deep");
	assert_refused("a: 1\n", repeated(".b = ", "[", 100, repeated("", "]", 100, "")), "nested more than 64 deep");
	assert_refused("a: 1\n", repeated(".[\"", "k", 257, "\"] = 1"), "at most 256 characters");
	assert_refused("a: 1\n", ".b[60000] = 1", "more than 50000 items");
	assert_refused("a: 1\n", ".l[49999] = 1 | .m[49999] = 1", "holds more than 50000 values");
	assert_refused("a: x\n", ".a = .a * 9000000", "too long");
	assert_refused("a: xxxxxxxxxx\n", repeated(".a *= 1000", " | .a *= 10", 8, ""), "too long");
	assert_refused("l: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]\n", repeated(". = [.l[]", " + .l[]", 8, "]"), "more than");
	assert_refused("l: [1, 2]\n", repeated("", ".l += .l | ", 60, "."), "more than");
	assert_refused("a: 1\n", repeated(".a = (\"a\" * 2000000 == \"*", "a", 60000, "b\")"),
		       "more than 1000000 steps");
	assert_refused("a: 1\n", repeated(". = ", "{\"a\": ", 66, repeated("1", "}", 66, "")),
		       "nested more than 64 deep");
}

static void test_long_lists_can_be_emptied(void **state)
{
	const char *list = repeated("l: [", "7, ", 5000, "7]\n");

	(void)state;
	assert_edit(list, "del(.l[])", "{\"l\":[]}");
	assert_edit(list, "del(.l[] | select(. == 7)) | .l += [1, 2] | del(.l[0])", "{\"l\":[2]}");
}

static void test_large_maps_can_be_sorted(void **state)
{
	auto_buf reversed = BUF_INIT(1 << 16);
	struct err e;
	const struct ynode *n;

	(void)state;
	for (int i = 1500; i--;)
		buf_addf(&reversed, "k%04d: %d\n", i, i);
	n = yq_edit(pool, "sort_keys(.)", tree(reversed.data), &e);
	if (!n)
		fail_msg("%s", e.msg);
	assert_int_equal(n->count, 1500);
	for (int i = 0; i < 1500; i++) {
		assert_string_equal(n->key[i]->text, yn_printf(pool, "k%04d", i));
		assert_string_equal(n->item[i]->text, yn_printf(pool, "%d", i));
	}
	assert_edit("bb: 1\nb: 2\n\"\": 3\nB: 4\nab: 5\n", "sort_keys(.)",
		    "{\"\":3,\"B\":4,\"ab\":5,\"b\":2,\"bb\":1}");
}

static void test_styles_of_new_values(void **state)
{
	struct err e;
	auto_buf out = BUF_INIT(1 << 16);
	struct ynode *n = yq_edit(pool, ".s = \"new\" | .t = \"true\" | .l = [1, {\"a\": []}] | .f += [3] | .q = 4",
				  tree("s: 'old'\nq: \"x\"\nf: [1, 2]\n"), &e);

	(void)state;
	assert_non_null(n);
	assert_int_equal(yn_get(n, "s")->style, YN_SINGLE);
	assert_int_equal(yn_get(n, "f")->style, YN_FLOW);
	assert_int_equal(yn_get(n, "q")->style, YN_PLAIN);
	assert_int_equal(yn_emit(n, &out), 0);
	assert_string_equal(out.data, "s: 'new'\nq: 4\nf: [1, 2, 3]\nt: \"true\"\nl:\n- 1\n- a: []\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_edits_give_the_whole_document, setup, teardown),
		cmocka_unit_test_setup_teardown(test_messages_name_the_place, setup, teardown),
		cmocka_unit_test_setup_teardown(test_quoting_survives_anything, setup, teardown),
		cmocka_unit_test_setup_teardown(test_what_is_not_changed_keeps_its_origin, setup, teardown),
		cmocka_unit_test_setup_teardown(test_anchors_are_not_changed_behind_ones_back, setup, teardown),
		cmocka_unit_test_setup_teardown(test_bounds, setup, teardown),
		cmocka_unit_test_setup_teardown(test_long_lists_can_be_emptied, setup, teardown),
		cmocka_unit_test_setup_teardown(test_large_maps_can_be_sorted, setup, teardown),
		cmocka_unit_test_setup_teardown(test_styles_of_new_values, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
