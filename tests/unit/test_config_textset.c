/* One value set in YAML text: the result means the new value and nothing else changed. */
#include "tests/unit/cfg_util.h"

static void test_only_the_value_changes(void **state)
{
	static const struct {
		const char *before, *key, *value, *after;
	} rows[] = {
		{ "cpus: 2\n", "cpus", "4", "cpus: 4\n" },
		{ "cpus: 2", "cpus", "4", "cpus: 4" },
		{ "# top\ncpus: 2  # why\nmemory: 1GiB\n", "cpus", "16",
		  "# top\ncpus: 16  # why\nmemory: 1GiB\n" },
		{ "memory: \"1GiB\" # q\n", "memory", "4GiB", "memory: 4GiB # q\n" },
		{ "memory: '1GiB'\n", "memory", "1.5GiB", "memory: 1.5GiB\n" },
		{ "cpus:\nmemory: 1GiB\n", "cpus", "4", "cpus: 4\nmemory: 1GiB\n" },
		{ "cpus: # none\n", "cpus", "4", "cpus: 4 # none\n" },
		{ "cpus: null\n", "cpus", "4", "cpus: 4\n" },
		{ "\"cpus\": 2\n", "cpus", "4", "\"cpus\": 4\n" },
		{ "cpus:    2\n", "cpus", "4", "cpus:    4\n" },
		{ "cpus:\n  2\n", "cpus", "4", "cpus:\n  4\n" },
		{ "cpus: !!int 2\n", "cpus", "4", "cpus: 4\n" },
		{ "  cpus: 2\n  disk: 1GiB\n", "disk", "2GiB", "  cpus: 2\n  disk: 2GiB\n" },
		{ "user: {cpus: 1}\ncpus: 2\n", "cpus", "4", "user: {cpus: 1}\ncpus: 4\n" },
		{ "message: |\n  cpus: 1\ncpus: 2\n", "cpus", "4",
		  "message: |\n  cpus: 1\ncpus: 4\n" },
		{ "message: |\n  a\n  b\ncpus: 2\n", "message", "x y",
		  "message: \"x y\"\ncpus: 2\n" },
		{ "message: >-\n  a\n", "message", "x", "message: x\n" },
		{ "# \xc3\xa9\xe2\x82\xac\nmessage: \"\xf0\x9f\x98\x80\"\ncpus: 2 # \xc3\xa9\n",
		  "cpus", "4",
		  "# \xc3\xa9\xe2\x82\xac\nmessage: \"\xf0\x9f\x98\x80\"\ncpus: 4 # \xc3\xa9\n" },
		{ "\xef\xbb\xbf"
		  "cpus: 2\n",
		  "cpus", "4",
		  "\xef\xbb\xbf"
		  "cpus: 4\n" },
		{ "cpus: 2\r\nmemory: 1GiB\r\n", "cpus", "4", "cpus: 4\r\nmemory: 1GiB\r\n" },
		{ "message: |\r\n  a\r\ncpus: 2\r\n", "message", "b", "message: b\r\ncpus: 2\r\n" },
		{ "---\ncpus: 2\n...\n", "cpus", "4", "---\ncpus: 4\n...\n" },
		{ "message: hi\n", "message", "a: \"b\" \\ #c",
		  "message: \"a: \\\"b\\\" \\\\ #c\"\n" },
		{ "message: hi\n", "message", "l1\nl2\t", "message: \"l1\\x0al2\\x09\"\n" },
		{ "message: hi\n", "message", "", "message: \"\"\n" },
		{ "message: hi\n", "message", "-x", "message: \"-x\"\n" },
		{ "x: &a 1\ncpus: 2\ny: *a\n", "cpus", "4", "x: &a 1\ncpus: 4\ny: *a\n" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct err e = { 0 };
		auto_free char *after = cfg_text_set(rows[i].before, strlen(rows[i].before),
						     rows[i].key, rows[i].value, &e);

		if (!after || strcmp(after, rows[i].after))
			fail_msg("row %zu: %s", i, after ? after : e.msg);
	}
}

static void test_a_key_that_is_not_there_is_added(void **state)
{
	static const struct {
		const char *before, *after;
	} rows[] = {
		{ "", "cpus: 4\n" },
		{ "# only this\n", "# only this\ncpus: 4\n" },
		{ "# only this", "# only this\ncpus: 4\n" },
		{ "---\n", "---\ncpus: 4\n" },
		{ "disk: 1GiB\n", "disk: 1GiB\ncpus: 4\n" },
		{ "disk: 1GiB # c", "disk: 1GiB # c\ncpus: 4\n" },
		{ "disk: 1GiB\r\n", "disk: 1GiB\r\ncpus: 4\r\n" },
		{ "  disk: 1GiB\n", "  disk: 1GiB\n  cpus: 4\n" },
		{ "user:\n  uid: 5\n", "user:\n  uid: 5\ncpus: 4\n" },
		{ "images:\n- location: a\n", "images:\n- location: a\ncpus: 4\n" },
		{ "message: |\n  a\n", "message: |\n  a\ncpus: 4\n" },
		{ "message: |+\n  a\n\n\n", "message: |+\n  a\n\n\ncpus: 4\n" },
		/* Appending would end the last line of the block, which has no end. */
		{ "# c\nmessage: |\n  a", "# c\ncpus: 4\nmessage: |\n  a" },
		{ "# c\ndisk: 1GiB\n...\n", "# c\ncpus: 4\ndisk: 1GiB\n...\n" },
		{ "  disk: 1GiB\n...\n", "  cpus: 4\n  disk: 1GiB\n...\n" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct err e = { 0 };
		auto_free char *after = cfg_text_set(rows[i].before, strlen(rows[i].before), "cpus",
						     "4", &e);

		if (!after || strcmp(after, rows[i].after))
			fail_msg("row %zu: %s", i, after ? after : e.msg);
	}
}

static void test_what_cannot_be_set_safely_is_refused_in_words(void **state)
{
	static const struct {
		const char *text, *says;
	} rows[] = {
		{ "{cpus: 2}\n", "one {…} mapping" },
		{ "[1]\n", "a mapping of keys to values is needed, not a list" },
		{ "text\n", "not text" },
		{ "cpus: 2\n---\ncpus: 3\n", "line 2, column 1: a second document" },
		{ "cpus: 2\ncpus: 3\n", "line 2, column 1: key `cpus` is given twice" },
		{ "cpus: [2\n", "line 2" },
		{ "cpus: [2]\n", "line 1: `cpus` is a list; change it in the file" },
		{ "cpus: {a: b}\n", "`cpus` is a mapping" },
		{ "cpus: &a 2\nx: *a\n", "`cpus` is shared by an anchor" },
		{ "x: &a 2\ncpus: *a\n", "`cpus` is shared by an anchor" },
		{ "? cpus\n", "cannot set `cpus`" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct err e = { 0 };
		auto_free char *after = cfg_text_set(rows[i].text, strlen(rows[i].text), "cpus",
						     "4", &e);

		if (after || !strstr(e.msg, rows[i].says))
			fail_msg("row %zu: %s", i, after ? after : e.msg);
	}
}

/* As the command line does it: several settings one after the other, then loaded. */
static void test_settings_add_up(void **state)
{
	static const char *const set[][2] = {
		{ "cpus", "3" }, { "memory", "1.5GiB" }, { "disk", "7GiB" }, { "cpus", "5" }
	};
	char *text = strdup("# head\n" IMAGE "memory: 512MiB # small\n");
	struct err e;

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		char *next = cfg_text_set(text, strlen(text), set[i][0], set[i][1], &e);

		assert_non_null(next);
		free(text);
		text = next;
	}
	assert_string_equal(text, "# head\n" IMAGE "memory: 1.5GiB # small\ncpus: 5\ndisk: 7GiB\n");
	auto_loaded l = load_ok(text);

	assert_int_equal(l.cfg.cpus, 5);
	assert_true(l.cfg.memory == (uint64_t)3 << 29);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_only_the_value_changes),
		cmocka_unit_test(test_a_key_that_is_not_there_is_added),
		cmocka_unit_test(test_what_cannot_be_set_safely_is_refused_in_words),
		cmocka_unit_test(test_settings_add_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
