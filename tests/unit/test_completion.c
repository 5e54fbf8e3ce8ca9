#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <sys/stat.h>

#include "limactl-c/cli/completion.h"
#include "tests/unit/tmp_dir.h"

enum { WORDS = 16 };

/* The candidates for the last of the words of line, which are separated by single blanks: joined by blanks. */
static const char *find(const char *line, bool *files)
{
	static char text[8000];
	char copy[200], *word[WORDS], *p = copy;
	struct completion c;
	size_t n = 0, used = 0;

	snprintf(copy, sizeof(copy), "%s", line);
	while (n < WORDS && (word[n] = strsep(&p, " ")))
		n++;
	completion_find((const char *const *)word, n, &c);
	text[0] = '\0';
	for (size_t i = 0; i < c.count; i++)
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s", i ? " " : "", c.item[i].word);
	*files = c.files;
	completion_fini(&c);
	return text;
}

static void test_positions(void **state)
{
	static const struct {
		const char *line, *expected;
		bool files;
	} rows[] = {
		{ "st", "start stop", false },
		{ "l", "list ls", false },
		{ "rm", "rm", false },
		{ "__c", "", false },
		{ "--tty st", "start stop", false },
		{ "help st", "start stop", false },
		{ "list --js", "--json", false },
		{ "--ver", "--version", false },
		{ "list --ver", "", false },
		{ "list --tty=", "--tty=true --tty=false", false },
		{ "completion ", "bash zsh fish", false },
		{ "completion bash ", "", false },
		{ "stop ", "one two", false },
		{ "stop o", "one", false },
		{ "delete one t", "two", false },
		{ "stop one t", "", false },
		{ "delete -f -- -", "", false },
		{ "shell --t", "--tty", false },
		{ "list --log-format ", "text json", false },
		{ "--log-level=w", "--log-level=warn", false },
		{ "shell one --", "", false },
		{ "template yq - .cpu", ".cpus=", false },
		{ "template yq - .idle.when=", "", false },
		{ "template yq - .idle.w", ".idle.when=", false },
		{ "template yq - .plain=", ".plain=false .plain=true", false },
		{ "template yq - .images", "", false },
		{ "create --vm-type q", "qemu", false },
		{ "create --mount-type=v", "--mount-type=virtiofs", false },
		{ "create --containerd u", "user user+system", false },
		{ "create --mount x", "", true },
		{ "create --set .cpu", ".cpus=", false },
		{ "edit o", "one", true },
		{ "clone o", "one", false },
		{ "clone one o", "", false },
		{ "start t", "two", true },
		{ "create --name x", "", false },
		{ "create --name x --nam", "--name", false },
		{ "create --cpus=", "", false },
		{ "bogus ", "", false },
		{ "bogus --", "", false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		bool files;
		const char *got = find(rows[i].line, &files);

		if (strcmp(got, rows[i].expected) != 0 || files != rows[i].files)
			fail_msg("\"%s\": \"%s\"%s", rows[i].line, got, files ? " and files" : "");
	}
}

/* "one|TWO|…" in its parts. */
static void test_values(void **state)
{
	struct completion c = { .lead = "--x=", .lead_len = 4, .typed = "q" };

	(void)state;
	completion_add_values(&c, "qemu|vz|QUITE|-|FILE");
	assert_int_equal(c.count, 1);
	assert_string_equal(c.item[0].word, "--x=qemu");
	assert_true(c.files);
	completion_fini(&c);
}

static void test_scripts(void **state)
{
	(void)state;
	assert_non_null(completion_script("bash"));
	assert_non_null(completion_script("zsh"));
	assert_non_null(completion_script("fish"));
	assert_null(completion_script("powershell"));
}

static int make_home(void **state)
{
	char path[300];

	if (tmp_dir_make(state) < 0)
		return -1;
	for (size_t i = 0; i < 2; i++) {
		snprintf(path, sizeof(path), "%s/%s", (char *)*state, i ? "two" : "one");
		if (mkdir(path, 0700) < 0)
			return -1;
	}
	return setenv("LIMA_HOME", *state, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_positions),
		cmocka_unit_test(test_values),
		cmocka_unit_test(test_scripts),
	};

	return cmocka_run_group_tests(tests, make_home, tmp_dir_remove);
}
