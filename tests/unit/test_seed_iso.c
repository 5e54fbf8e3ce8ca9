/* The seed as a volume: written twice it is the same, and read by another reader its files are what was asked for. */
#include "tests/unit/image_util.h"

#include <archive.h>
#include <archive_entry.h>

#include "tests/unit/seed_util.h"

DEFINE_CLEANUP(struct archive *, archive_read_free)

static const char yaml[] = IMAGE "param: {A: b}\nprovision:\n- mode: boot\n  script: |-\n"
				 "    cat <<'EOT'\n      two\n        four\n    \ttab $5 `date` \\n \"q\" 'p' #c x }}\n    EOT\n"
				 "- mode: data\n  path: /etc/empty\n  content: ''\n";
static const char script[] = "cat <<'EOT'\n  two\n    four\n\ttab $5 `date` \\n \"q\" 'p' #c x }}\nEOT";

static void write_iso(const char *name)
{
	auto_free char *list = NULL, *out = at(name);
	auto_buf text = BUF_INIT(1 << 20);
	auto_seed s = { 0 };
	struct err e = { 0 };
	char said[1024];

	if (seed_of("box", yaml, &s, &e) < 0)
		fail_msg("%s", e.msg);
	for (size_t i = 0; i < s.files; i++) {
		auto_free char *number = xasprintf("%s.%zu", name, i);
		auto_free char *path = s.file[i].data ? put(number, s.file[i].data, s.file[i].len) : xstrdup(s.file[i].source);

		assert_int_equal(buf_addf(&text, "%o %s %s\n", s.file[i].mode, s.file[i].path, path), 0);
	}
	list = put_text("list", text.data);
	if (RUN(command_seed, said, &e, "--label", "cidata", "--out", out, "--list", list))
		fail_msg("%s", e.msg);
}

static void read_whole(const char *name, struct buf *b)
{
	auto_free char *path = at(name);

	read_text(path, b);
}

static void test_twice_the_same(void **state)
{
	auto_buf first = BUF_INIT(8 << 20), second = BUF_INIT(8 << 20);
	char host[256];

	(void)state;
	write_iso("a.iso");
	write_iso("b.iso");
	read_whole("a.iso", &first);
	read_whole("b.iso", &second);
	assert_int_equal(first.len, second.len);
	assert_memory_equal(first.data, second.data, first.len);
	assert_int_equal(gethostname(host, sizeof(host)), 0);
	assert_null(memmem(first.data, first.len, host, strlen(host)));
}

static void test_files_in_the_volume(void **state)
{
	CLEANUP(archive_read_freep) struct archive *a = archive_read_new();
	auto_free char *path = at("a.iso");
	struct archive_entry *entry;
	size_t scripts = 0, empty = 0;

	(void)state;
	write_iso("a.iso");
	archive_read_support_format_iso9660(a);
	assert_int_equal(archive_read_open_filename(a, path, 10240), ARCHIVE_OK);
	while (archive_read_next_header(a, &entry) == ARCHIVE_OK) {
		const char *name = archive_entry_pathname(entry);
		char got[512] = "";

		if (!strcmp(name, "provision.boot/00000000")) {
			scripts++;
			assert_int_equal(archive_read_data(a, got, sizeof(got)), strlen(script));
			assert_string_equal(got, script);
			assert_int_equal(archive_entry_mode(entry), S_IFREG | 0700);
		}
		if (!strcmp(name, "provision.data/00000001")) {
			empty++;
			assert_int_equal(archive_entry_size(entry), 0);
		}
	}
	assert_int_equal(scripts, 1);
	assert_int_equal(empty, 1);
}

static int begin(void **state)
{
	static char path[sizeof(dir) + sizeof("/agent")];
	auto_free char *made = NULL;

	if (make_dir(state) < 0)
		return -1;
	made = put_text("agent", "the agent\n");
	snprintf(path, sizeof(path), "%s", made);
	seed_agent = path;
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_twice_the_same, begin, remove_dir),
		cmocka_unit_test_setup_teardown(test_files_in_the_volume, begin, remove_dir),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
