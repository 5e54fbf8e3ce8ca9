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
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
