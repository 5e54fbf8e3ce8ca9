#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "limactl-c/cli/explain.h"
#include "limactl-c/yaml/parse.h"

static const struct ynode *parse(struct yn_pool *p, const char *name, const char *text)
{
	struct err e = { 0 };
	const struct ynode *n = yn_parse_one(p, name, text, strlen(text), &e);

	if (!n)
		fail_msg("%s\n%s", e.msg, text);
	return n;
}

static void test_places(void **state)
{
	auto_pool p = yn_pool_new();
	auto_buf out = BUF_INIT(10000);
	struct ynode *root = yn_copy(p, parse(p, "a.yaml", "cpus: 4\n\nenv: {A: x}\nlist:\n- one\n- k: 1\n  m: []\n"));
	struct ynode *other = yn_copy(p, parse(p, "b\n.yaml", "text: |\n  #!/bin/sh\n\n   echo\n"));

	(void)state;
	yn_set(p, root, "disk", yn_string(p, "100GiB"));
	yn_set(p, root, "none", yn_map(p));
	yn_set(p, root, "text", yn_get(other, "text"));
	assert_int_equal(explain(root, &out), 0);
	assert_string_equal(out.data, "cpus: 4  # a.yaml:1\n"
				      "env:\n"
				      "  A: x  # a.yaml:3\n"
				      "list:\n"
				      "  - one  # a.yaml:5\n"
				      "  - k: 1  # a.yaml:6\n"
				      "    m: []  # a.yaml:7\n"
				      "disk: 100GiB  # default\n"
				      "none: {}  # default\n"
				      "text: |  # b?.yaml:1\n"
				      "  #!/bin/sh\n\n"
				      "   echo\n");
}

/* Whatever the values are, the output is YAML that says the same. */
static void test_says_the_same(void **state)
{
	static const char *const texts[] = {
		"{}",
		"a: \"x\\ny\"",
		"a: \"x\\n\\n\\n\"",
		"a: [\"x\\n\", \"\\n\", \" x\\n\", \"x\\n \"]",
		"a: [\"\\tx\\n\", \"x\\r\\ny\", \"x\\0\\n\", \"x\\e\\n\", \"x\\u2028\\n\", \"x\\u0085\\n\", \"\\uFEFFx\\n\"]",
		"a: [\"\\uFFFEx\\n\", \"x\\n\\uFFFF\", \"x\\n\\U0001FFFE\"]",
		"a: [[1, [2, {b: [\"p\\nq\\n\", {}]}]], [], {}]",
		"a: [~, true, 1.5, \"true\", \"1\", \"\", \"#\", \"a: b\", \"- a\"]",
		"\"a b\": {\"# c\": 1, \"\": 2, \"x\\ny\": 3}",
		"a: [\"\\xe4\\xf6\\n\", \"\\U0001F600\\nx\"]",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		auto_pool p = yn_pool_new();
		auto_buf out = BUF_INIT(10000);
		const struct ynode *n = parse(p, "x", texts[i]);

		assert_int_equal(explain(n, &out), 0);
		if (!yn_same(n, parse(p, "explained", out.data)))
			fail_msg("%s\nbecame\n%s", texts[i], out.data);
	}
}

static void test_full(void **state)
{
	auto_pool p = yn_pool_new();
	auto_buf out = BUF_INIT(10);

	(void)state;
	assert_int_equal(explain(parse(p, "x", "a: [1, {b: \"x\\ny\"}]"), &out), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_places),
		cmocka_unit_test(test_says_the_same),
		cmocka_unit_test(test_full),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
