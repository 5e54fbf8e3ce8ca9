/* docs/config.md is made from the table of keys and checked here. UPDATE=1 writes it anew. Run from
 * the root. */
#include "tests/unit/cfg_util.h"

#include <stdlib.h>

#include "lib/io.h"
#include "limactl-c/config/schema.h"

#define DOC "docs/config.md"
enum { DOC_MAX = 1 << 20 };

static const char head[] =
	"# Keys of a template\n"
	"\n"
	"Made from the table in `limactl-c/config/schema_keys.c` by `tests/unit/test_config_doc.c` (`UPDATE=1`); do not edit.\n"
	"\n"
	"A template is one YAML 1.2 document. A key that is left out or `null` takes its default. Unknown keys, keys given\n"
	"twice and values of the wrong type are errors, all reported in one run as `FILE:LINE:COLUMN: KEY: what`. Sizes are\n"
	"`4GiB`, `512MiB`, `1.5g` (powers of 1024) or bytes; durations are `10s`, `1m30s`, `1h`, `0`. Bounds: 4 MiB of\n"
	"text, 64 levels, 50000 values with aliases counted each time, 2000 keys a mapping, 1000 entries a list.\n"
	"\n"
	"Templates as a whole, their bases, layers and variables as `{{.Name}}`: [templates.md](templates.md). The same table as a\n"
	"JSON Schema, for editors: `limactl-c generate-jsonschema`.\n"
	"\n"
	"| key | type | default | meaning |\n"
	"| --- | --- | --- | --- |\n";
static const char foot[] =
	"\n"
	"## Differences from Lima\n"
	"\n"
	"- Unknown keys are errors, not warnings (`--lenient`: warnings).\n"
	"- The whole format is understood and checked. What this version does not carry out is refused, or warned of, when\n"
	"  an instance is created or started, not when a template is validated.\n"
	"- `cpus: 0`, `memory: 0` and `disk: 0` are refused; Lima takes them as not set. Leave the key out or write `null`.\n"
	"- `user.passwordlessSudo: false` does not need `plain: true`: nothing here goes through the guest's sudo.\n"
	"- containerd is off by default, and no archive is known by itself: what is shipped brings Docker. Lima turns\n"
	"  `containerd.user` on and has nerdctl's archives in its program. `containerd.archives` is needed where one of the two is\n"
	"  true. A template that is to be the same in both says `system`, `user` and `archives` itself.\n"
	"- A parameter that nothing uses is a warning.\n"
	"- Keys of `provision` that its mode does not use are errors.\n"
	"- A user named root is possible, and is the default when root runs limactl-c.\n";

static const char *type_word(const struct key *k)
{
	static const char *const word[KEY_TYPES] = {
		[KEY_STRING] = "text",
		[KEY_BOOL] = "true, false",
		[KEY_TRI] = "true, false",
		[KEY_MOVED] = "deprecated",
		[KEY_COUNT] = "number",
		[KEY_PORT] = "port",
		[KEY_SIZE] = "size",
		[KEY_SECONDS] = "duration",
		[KEY_RANGE] = "[port, port]",
		[KEY_FLAGS] = "list of words",
		[KEY_PAIRS] = "mapping of text",
		[KEY_STRINGS] = "list of text",
		[KEY_LIST] = "list",
	};

	return word[k->type];
}

/* "a, b, c" for words, "1-512" for numbers. */
static void put_allowed(struct buf *b, const struct key *k)
{
	const char *p = k->allowed;
	char word[64];

	for (size_t i = 0; p && schema_next_word(&p, word, sizeof(word)); i++)
		buf_addf(b, "%s%s", i ? ", " : ": ", word);
}

static void make_doc(struct buf *b)
{
	buf_adds(b, head);
	for (size_t i = 0; i < schema_count; i++) {
		const struct key *k = &schema[i];

		buf_addf(b, "| `%s` | %s", k->path, type_word(k));
		put_allowed(b, k);
		if (k->def)
			buf_addf(b, " | `%s` | %s |\n", k->def, k->help);
		else
			buf_addf(b, " | %s | %s |\n", k->note ? k->note : "", k->help);
	}
	buf_adds(b, foot);
}

static void test_the_document_is_what_the_table_says(void **state)
{
	auto_buf wanted = BUF_INIT(DOC_MAX);
	auto_buf have = BUF_INIT(DOC_MAX);
	struct err e;

	(void)state;
	make_doc(&wanted);
	if (getenv("UPDATE")) {
		auto_fclose FILE *f = fopen(DOC, "w");

		assert_non_null(f);
		assert_int_equal(fwrite(wanted.data, 1, wanted.len, f), wanted.len);
		return;
	}
	assert_int_equal(io_read_file(DOC, &have, &e), 0);
	if (strcmp(have.data, wanted.data))
		fail_msg("%s is out of date: run this test with UPDATE=1", DOC);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_document_is_what_the_table_says),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
