/* Our answers against those of the real yq, which tests/differential/yq-record has written down in tests/golden/yq. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka wants these first */
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "lib/buf.h"
#include "limactl-c/yaml/parse.h"
#include "limactl-c/yaml/yscalar.h"
#include "limactl-c/yq/yq.h"

enum { ANSWERS_MAX = 1000, ANSWERED_MIN = 300 };

struct one_case {
	const char *file;
	unsigned line;
	struct buf input, expression;
	bool refused, error;
	char *answer[ANSWERS_MAX];
	size_t answers;
};
static struct {
	unsigned answered, refused, errors, wrong;
} count;

static bool same_number(const struct ynode *a, const struct ynode *b)
{
	uint64_t x, y;

	if (yscalar_uint(a->text, &x) && yscalar_uint(b->text, &y))
		return x == y;
	return strtod(a->text, NULL) == strtod(b->text, NULL);
}

static bool is_number(const struct ynode *n)
{
	return n->kind == YN_INT || n->kind == YN_FLOAT;
}

/* As JSON: 2 and 2.0 are one number. */
static bool same(const struct ynode *a, const struct ynode *b)
{
	if (is_number(a) && is_number(b))
		return same_number(a, b);
	if (a->kind != b->kind || a->count != b->count)
		return false;
	if (a->kind == YN_BOOL)
		return !strcasecmp(a->text, b->text);
	if (a->kind == YN_STRING)
		return a->len == b->len && !memcmp(a->text, b->text, a->len);
	for (size_t i = 0; i < a->count; i++) {
		if (a->kind == YN_MAP && (a->key[i]->len != b->key[i]->len || strcmp(a->key[i]->text, b->key[i]->text)))
			return false;
		if (!same(a->item[i], b->item[i]))
			return false;
	}
	return true;
}

static const struct ynode *read_tree(struct yn_pool *p, const char *text)
{
	struct err e;
	/* A text without value is an empty map here, but null in JSON. */
	const struct ynode *n = !strcmp(text, "null") ? yn_null(p) : yn_parse_one(p, "case", text, strlen(text), &e);

	if (!n)
		fail_msg("%s: %s", text, e.msg);
	return n;
}

static void wrong(const struct one_case *c, const char *what, const char *more)
{
	print_error("%s:%u: %s: %s %s\n", c->file, c->line, c->expression.data, what, more);
	count.wrong++;
}

static void compare(struct yn_pool *p, const struct one_case *c, const struct yq_result *got)
{
	if (c->error) {
		wrong(c, "yq gives an error, we answer", got->count ? yn_kind_word(got->node[0]->kind) : "nothing");
		return;
	}
	if (got->count != c->answers) {
		wrong(c, "another number of results", "");
		return;
	}
	for (size_t i = 0; i < got->count; i++) {
		struct findings f = { 0 };
		/* yq writes JSON with merge keys carried out. */
		const struct ynode *ours = yn_merge_keys(p, got->node[i], &f);

		assert_int_equal(f.count, 0);
		if (!same(read_tree(p, c->answer[i]), ours)) {
			wrong(c, "another answer than", c->answer[i]);
			return;
		}
	}
	count.answered++;
}

static void check(const struct one_case *c)
{
	auto_pool p = yn_pool_new();
	struct ynode *root = yn_copy(p, read_tree(p, c->input.data ? c->input.data : ""));
	struct yq_result got;
	struct err e = { 0 };

	if (yq_run(p, c->expression.data, root, &got, &e) == 0) {
		compare(p, c, &got);
		return;
	}
	if (!strstr(e.msg, "at character"))
		wrong(c, "a message without place:", e.msg);
	if (c->error)
		count.errors++;
	else if (c->refused)
		count.refused++;
	else
		wrong(c, "not answered:", e.msg);
}

static void finish(struct one_case *c)
{
	if (c->expression.len)
		check(c);
	for (size_t i = 0; i < c->answers; i++)
		free(c->answer[i]);
	buf_free(&c->expression);
	c->answers = 0;
	c->refused = c->error = false;
}

/* input, then lines of YAML behind a tab; expr TEXT, refused, then answer JSON, nothing or error. */
static void read_line(struct one_case *c, const char *line)
{
	if (!strncmp(line, "input", 5)) {
		finish(c);
		buf_free(&c->input);
	} else if (*line == '\t') {
		if (c->expression.len)
			buf_addf(&c->expression, "\n%s", line + 1);
		else
			buf_addf(&c->input, "%s\n", line + 1);
	} else if (!strncmp(line, "expr ", 5)) {
		finish(c);
		buf_adds(&c->expression, line + 5);
	} else if (!strncmp(line, "answer ", 7)) {
		if (c->answers == ANSWERS_MAX)
			fail_msg("%s:%u: more than %d answers", c->file, c->line, ANSWERS_MAX);
		c->answer[c->answers++] = strdup(line + 7);
	} else if (!strcmp(line, "error")) {
		c->error = true;
	} else if (!strcmp(line, "refused")) {
		c->refused = true;
	} else if (*line && *line != '#' && strcmp(line, "nothing")) {
		fail_msg("%s:%u: %s", c->file, c->line, line);
	}
}

static void check_file(const char *name)
{
	struct one_case c = { .file = name, .input = BUF_INIT(1 << 16), .expression = BUF_INIT(1 << 16) };
	FILE *f = fopen(name, "re");
	char line[1 << 14];
	unsigned n = 0;

	assert_non_null(f);
	while (fgets(line, sizeof(line), f)) {
		assert_true(strlen(line) < sizeof(line) - 1);
		line[strcspn(line, "\n")] = '\0';
		n++;
		if (!strncmp(line, "expr ", 5) || !strncmp(line, "input", 5)) {
			finish(&c);
			c.line = n;
		}
		read_line(&c, line);
	}
	finish(&c);
	buf_free(&c.input);
	fclose(f);
}

static void test_answers_are_those_of_yq(void **state)
{
	(void)state;
	check_file("tests/golden/yq/cases.txt");
	check_file("tests/golden/yq/grid.txt");
	print_message("# yq: %u answered alike, %u refused by us, %u errors in both\n", count.answered, count.refused,
		      count.errors);
	assert_int_equal(count.wrong, 0);
	assert_true(count.answered >= ANSWERED_MIN);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_answers_are_those_of_yq),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
