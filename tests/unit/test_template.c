/* Where a template's text comes from, and the shipped templates themselves. Run from the
 * repository's root. */
#include "tests/unit/cfg_util.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/io.h"
#include "limactl-c/base/mem.h"

enum { TEXT_MAX = 4 << 20 };

static char dir[] = "/tmp/lc-template.XXXXXX";

static void put(const char *name, const char *text)
{
	auto_free char *path = xasprintf("%s/%s", dir, name);
	auto_fclose FILE *f = fopen(path, "w");

	assert_non_null(f);
	assert_int_equal(fwrite(text, 1, strlen(text), f), strlen(text));
}

static int setup(void **state)
{
	static const char *const folders[] = { "home",
					       "home/_templates",
					       "prefix",
					       "prefix/share",
					       "prefix/share/limactl-c",
					       "prefix/share/limactl-c/templates",
					       "prefix/share/limactl-c/templates/sub",
					       "own" };

	(void)state;
	if (!mkdtemp(dir))
		return -1;
	for (size_t i = 0; i < sizeof(folders) / sizeof(*folders); i++) {
		auto_free char *path = xasprintf("%s/%s", dir, folders[i]);

		if (mkdir(path, 0700) < 0)
			return -1;
	}
	put("My-VM.yaml", "file");
	put("plain", "no suffix");
	put("home/_templates/mine.yaml", "from home");
	put("home/_templates/both.yaml", "home wins");
	put("prefix/share/limactl-c/templates/both.yaml", "prefix");
	put("prefix/share/limactl-c/templates/alpine-3.23.yaml", "versioned");
	put("prefix/share/limactl-c/templates/other.yml", "yml");
	put("prefix/share/limactl-c/templates/_part.yaml", "part");
	put("prefix/share/limactl-c/templates/sub/deep.yaml", "deep");
	put("own/only.yaml", "own path");
	return 0;
}

static int teardown(void **state)
{
	auto_free char *command = xasprintf("rm -rf %s", dir);

	(void)state;
	return system(command);
}

static void use_environment(bool own)
{
	auto_free char *home = xasprintf("%s/home", dir);
	auto_free char *prefix = xasprintf("%s/prefix", dir);
	auto_free char *path = xasprintf("%s/none:%s/own", dir, dir);

	setenv("LIMA_HOME", home, 1);
	setenv("LIMACTL_C_PREFIX", prefix, 1);
	if (own)
		setenv("LIMA_TEMPLATES_PATH", path, 1);
	else
		unsetenv("LIMA_TEMPLATES_PATH");
}

static void assert_text(const char *locator, const char *text, const char *wanted_name)
{
	auto_buf b = BUF_INIT(TEXT_MAX);
	auto_free char *name = NULL;
	struct err e = { 0 };

	if (cfg_template_read(locator, &b, &name, &e) < 0)
		fail_msg("%s: %s", locator, e.msg);
	assert_string_equal(b.data, text);
	assert_string_equal(name, wanted_name);
}

static void assert_error(const char *locator, enum err_kind kind, const char *says)
{
	auto_buf b = BUF_INIT(TEXT_MAX);
	auto_free char *name = NULL;
	struct err e = { 0 };

	assert_int_equal(cfg_template_read(locator, &b, &name, &e), -1);
	if (!strstr(e.msg, says) || e.kind != kind)
		fail_msg("%s: kind %d, %s", locator, e.kind, e.msg);
	assert_null(name);
}

static void test_files_give_their_text_and_a_name(void **state)
{
	auto_free char *vm = xasprintf("%s/My-VM.yaml", dir);
	auto_free char *plain = xasprintf("%s/plain", dir);

	(void)state;
	assert_text(vm, "file", "my-vm");
	assert_text(plain, "no suffix", "plain");
}

static void test_names_are_looked_up_in_order(void **state)
{
	(void)state;
	use_environment(false);
	assert_text("template:mine", "from home", "mine");
	assert_text("template:both", "home wins", "both");
	assert_text("template:alpine-3.23", "versioned", "alpine-3.23");
	assert_text("template:both.yaml", "home wins", "both");
	assert_text("template:other.yml", "yml", "other");
	assert_text("template:sub/deep", "deep", "deep");
	assert_text("template:_part", "part", "_part");
	assert_text("template://mine", "from home", "mine");
	use_environment(true);
	assert_text("template:only", "own path", "only");
	assert_error("template:mine", ERR_NOTFOUND, "template \"mine\" not found");
}

static void test_an_unknown_name_lists_the_known_ones(void **state)
{
	(void)state;
	use_environment(false);
	assert_error("template:nothing", ERR_NOTFOUND,
		     "template \"nothing\" not found; known: alpine-3.23, both, mine");
	assert_error("template:bth", ERR_NOTFOUND, "did you mean both? known: ");
	assert_error("template:", ERR_NOTFOUND, "template \"\" not found");
	assert_error("template:../../own/only", ERR_NOTFOUND, "not found");
	assert_error("template:/etc/passwd", ERR_NOTFOUND, "not found");
}

static void test_what_is_no_template_is_said_in_one_sentence(void **state)
{
	auto_free char *missing = xasprintf("%s/missing.yaml", dir);
	auto_free char *folder = xasprintf("%s/own", dir);
	auto_free char *missing_says = xasprintf("open %s: No such file or directory", missing);
	auto_free char *folder_says = xasprintf("%s is a folder, not a template file", folder);

	(void)state;
	assert_error(missing, ERR_SYS, missing_says);
	assert_error(folder, ERR_INVALID, folder_says);
	assert_error("https://example.com/x.yaml", ERR_INVALID,
		     "templates by URL are not supported");
}

/* Root reads every file, so the unreadable one is tried as another user. */
static void test_an_unreadable_file_is_said(void **state)
{
	auto_free char *path = xasprintf("%s/plain", dir);

	(void)state;
	assert_int_equal(chmod(dir, 0711) | chmod(path, 0), 0);
	if (geteuid() == 0)
		assert_int_equal(seteuid(65534), 0);
	assert_error(path, ERR_SYS, "Permission denied");
	if (getuid() == 0)
		assert_int_equal(seteuid(0), 0);
	assert_int_equal(chmod(path, 0600), 0);
}

static void test_a_dash_is_standard_input(void **state)
{
	auto_buf b = BUF_INIT(TEXT_MAX);
	auto_buf small = BUF_INIT(3);
	auto_free char *name = NULL, *path = xasprintf("%s/My-VM.yaml", dir);
	int keep = dup(STDIN_FILENO), fd = open(path, O_RDONLY);
	struct err e;

	(void)state;
	assert_true(fd >= 0 && dup2(fd, STDIN_FILENO) == STDIN_FILENO);
	assert_int_equal(cfg_template_read("-", &b, &name, &e), 0);
	assert_string_equal(b.data, "file");
	assert_null(name);
	assert_int_equal(lseek(STDIN_FILENO, 0, SEEK_SET), 0);
	assert_int_equal(cfg_template_read("-", &small, &name, &e), -1);
	assert_non_null(strstr(e.msg, "larger than 3 bytes"));
	close(fd);
	dup2(keep, STDIN_FILENO);
	close(keep);
}

/* Every template we ship is right on both architectures, and draws no warning. */
static void test_shipped_templates_are_right(void **state)
{
	DIR *templates = opendir("templates");
	struct dirent *d;
	size_t count = 0;

	(void)state;
	assert_non_null(templates);
	while ((d = readdir(templates))) {
		static const char *const arches[] = { "x86_64", "aarch64" };

		for (size_t i = 0; i < 2 && strstr(d->d_name, ".yaml"); i++) {
			auto_free char *path = xasprintf("templates/%s", d->d_name);
			struct cfg_host h = cfg_test_host;
			auto_buf text = BUF_INIT(TEXT_MAX);
			struct err e;

			h.arch = arches[i];
			assert_int_equal(io_read_file(path, &text, &e), 0);
			auto_loaded l = load(text.data, &h);

			if (l.rc || l.findings.data)
				fail_msg("%s on %s: %s", path, arches[i], l.findings.data);
			count++;
		}
	}
	closedir(templates);
	assert_in_range(count, 4, 1000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_files_give_their_text_and_a_name),
		cmocka_unit_test(test_names_are_looked_up_in_order),
		cmocka_unit_test(test_an_unknown_name_lists_the_known_ones),
		cmocka_unit_test(test_what_is_no_template_is_said_in_one_sentence),
		cmocka_unit_test(test_an_unreadable_file_is_said),
		cmocka_unit_test(test_a_dash_is_standard_input),
		cmocka_unit_test(test_shipped_templates_are_right),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
