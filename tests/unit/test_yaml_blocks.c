#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka wants these first */
#include <cmocka.h>

#include <string.h>

#include "limactl-c/yaml/patch.h"
#include "yaml_util.h"

static const struct {
	const char *yaml, *text;
} rows[] = {
	/* literal: clip, strip, keep */
	{ "k: |\n  a\n", "a\n" },
	{ "k: |\n  a\n\n\n", "a\n" },
	{ "k: |-\n  a\n\n\n", "a" },
	{ "k: |+\n  a\n\n\n", "a\n\n\n" },
	{ "k: |\n  a", "a" },
	{ "k: |\n  a\n   b\n\n  c\n", "a\n b\n\nc\n" },
	{ "k: |\n\n  a\n", "\na\n" },
	{ "k: |\n  a  \n  \tb\n", "a  \n\tb\n" },
	{ "k: |\n", "" },
	{ "k: |-\nl: 1\n", "" },
	{ "k: |+\n\n\n", "\n\n" },
	/* an indentation that is said */
	{ "k: |2\n    a\n  b\n", "  a\nb\n" },
	{ "k: |1-\n   a\n", "  a" },
	{ "k: |+1\n  a\n\n", " a\n\n" },
	{ "k:\n  l: |2\n     a\n", " a\n" },
	/* comments and markers are text inside */
	{ "k: | # c\n  # a\n  --- b\n  ...\n# c\n", "# a\n--- b\n...\n" },
	{ "k: |\n  #!/bin/sh\n  echo \"$A\" 'b' {{.Home}}\n  cat <<'EOF'\n    x: y\n  EOF\n",
	  "#!/bin/sh\necho \"$A\" 'b' {{.Home}}\ncat <<'EOF'\n  x: y\nEOF\n" },
	/* folded */
	{ "k: >\n  a\n  b\n\n  c\n", "a b\nc\n" },
	{ "k: >-\n  a\n  b\n\n\n", "a b" },
	{ "k: >+\n  a\n  b\n\n", "a b\n\n" },
	{ "k: >\n  a\n\n\n  b\n", "a\n\nb\n" },
	{ "k: >\n  a\n    b\n    c\n  d\n", "a\n  b\n  c\nd\n" },
	{ "k: >2\n    a\n  b\n", "  a\nb\n" },
	{ "k: >\n  a\n  b", "a b" },
	/* with a tag, with an anchor */
	{ "k: !!str |\n  1\n", "1\n" },
	{ "k: &x |\n  1\n", "1\n" },
	/* quotes over several lines */
	{ "k: \"a\n  b\n\n  c\\\n  d\"\n", "a b\ncd" },
	{ "k: 'a\n\n  b'\n", "a\nb" },
	{ "k: a\n  b\n\n  c\n", "a b\nc" },
};

static const struct ynode *value_of(const struct ynode *root)
{
	const struct ynode *k = root->item[0];

	return k->kind == YN_MAP ? k->item[0] : k;
}

static void test_every_form_says_just_its_bytes(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		assert_string_equal(value_of(tree(rows[i].yaml))->text, rows[i].text);
}

static void test_crlf_makes_no_difference(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		auto_buf crlf = BUF_INIT(1000);

		for (const char *p = rows[i].yaml; *p; p++)
			buf_add(&crlf, *p == '\n' ? "\r\n" : p, *p == '\n' ? 2 : 1);
		assert_string_equal(value_of(tree(crlf.data))->text, rows[i].text);
	}
}

/* The document said by the tree, the lines of what it was copied from taken over. */
static void taken_over(const struct ynode *n)
{
	auto_buf out = BUF_INIT(1 << 20);
	struct err e;

	if (yn_patch(tree("[]\n"), n, &out, &e) < 0)
		fail_msg("%s", e.msg);
	assert_true(yn_same(tree(out.data), n));
}

static void test_every_form_is_written_again_with_and_without_its_lines(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct ynode *n = yn_copy(pool, tree(rows[i].yaml)), *list = yn_list(pool);

		yn_add(pool, list, n);
		yn_add(pool, list, n);
		taken_over(n);
		taken_over(list);
		emitted(n);
		emitted(list);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_form_says_just_its_bytes),
		cmocka_unit_test(test_crlf_makes_no_difference),
		cmocka_unit_test(test_every_form_is_written_again_with_and_without_its_lines),
	};

	return RUN_WITH_POOL(tests);
}
