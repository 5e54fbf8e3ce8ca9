/* Where a template's text comes from, and what a relative locator means. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka wants these first */
#include <cmocka.h>

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "limactl-c/base/fs.h"
#include "limactl-c/base/mem.h"
#include "limactl-c/config/locator.h"

enum { TEXT_MAX = 4 << 20 };

static char dir[] = "/tmp/lc-locator.XXXXXX";

static void put(const char *name, const char *text)
{
	auto_free char *path = xasprintf("%s/%s", dir, name), *folder = fs_parent(path);
	struct err e = { 0 };

	if (fs_mkdirs(folder, 0700, &e) < 0 || fs_write_atomic(path, text, strlen(text), 0600, &e) < 0)
		fail_msg("%s", e.msg);
}

#define SHARE "prefix/share/limactl-c/templates/"

static int setup(void **state)
{
	auto_free char *link = NULL;

	(void)state;
	if (!mkdtemp(dir))
		return -1;
	put("My-VM.yaml", "file");
	put("plain", "no suffix");
	put("alpha:beta.yaml", "colon");
	put("home/_templates/mine.yaml", "from home");
	put("home/_templates/both.yaml", "home wins");
	put("home/_templates/.hidden.yaml", "hidden");
	put("home/_templates/two\nlines.yaml", "no line can name it");
	put("home/_templates/\xff.yaml", "nor can JSON");
	put(SHARE "both.yaml", "prefix");
	put(SHARE "alpine-3.23.yaml", "versioned");
	put(SHARE "other.yml", "yml");
	put(SHARE "_part.yaml", "part");
	put(SHARE "sub/deep.yaml", "deep");
	put(SHARE "sub/run.sh", "script");
	put("own/only.yaml", "own path");
	link = xasprintf("%s/own/loop", dir);
	return symlink(".", link);
}

static int teardown(void **state)
{
	struct err e;

	(void)state;
	return fs_remove_tree(dir, &e);
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
	auto_free char *name = locator_instance_name(locator);
	struct err e = { 0 };

	if (locator_read(locator, NULL, NULL, &b, &e) < 0)
		fail_msg("%s: %s", locator, e.msg);
	assert_string_equal(b.data, text);
	assert_string_equal(name, wanted_name);
}

static void assert_error(const char *locator, enum err_kind kind, const char *says)
{
	auto_buf b = BUF_INIT(TEXT_MAX);
	struct err e = { 0 };

	assert_int_equal(locator_read(locator, NULL, NULL, &b, &e), -1);
	if (!strstr(e.msg, says) || e.kind != kind)
		fail_msg("%s: kind %d, %s", locator, e.kind, e.msg);
}

static void test_files_give_their_text_and_a_name(void **state)
{
	auto_free char *vm = xasprintf("%s/My-VM.yaml", dir), *url = xasprintf("file://%s", vm);
	auto_free char *plain = xasprintf("%s/plain", dir), *colon = xasprintf("%s/alpha:beta.yaml", dir);

	(void)state;
	assert_text(vm, "file", "my-vm");
	assert_text(url, "file", "my-vm");
	assert_text(plain, "no suffix", "plain");
	assert_text(colon, "colon", "alpha:beta");
	assert_int_equal(chdir(dir), 0);
	assert_text("My-VM.yaml", "file", "my-vm");
	assert_text("./plain", "no suffix", "plain");
	assert_text("alpha:beta.yaml", "colon", "alpha:beta");
	assert_int_equal(chdir("/"), 0);
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
	assert_text("template:sub/run.sh", "script", "run.sh");
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
	assert_error("template:sub/dep", ERR_NOTFOUND, "did you mean sub/deep? known: alpine-3.23, both, mine");
	assert_error("template:", ERR_NOTFOUND, "template \"\" not found");
	assert_error("template:../../own/only", ERR_NOTFOUND, "not found");
	assert_error("template:/etc/passwd", ERR_NOTFOUND, "not found");
}

static void test_templates_are_listed_once_and_in_order(void **state)
{
	static const char *const names[] = { "_part", "alpine-3.23", "both", "mine", "sub/deep" };
	auto_free char *both = xasprintf("%s/home/_templates/both.yaml", dir);
	struct locator_template *list;
	size_t count;

	(void)state;
	use_environment(false);
	count = locator_list(&list);
	assert_int_equal(count, 5);
	for (size_t i = 0; i < count; i++)
		assert_string_equal(list[i].name, names[i]);
	assert_string_equal(list[2].path, both);
	locator_list_free(list, count);
	use_environment(true);
	count = locator_list(&list);
	assert_int_equal(count, 1);
	assert_string_equal(list[0].name, "only");
	locator_list_free(list, count);
}

static void test_what_is_no_template_is_said_in_one_sentence(void **state)
{
	auto_free char *missing = xasprintf("%s/missing.yaml", dir), *long_one = xcalloc(1, 5000);
	auto_free char *folder = xasprintf("%s/own", dir);
	auto_free char *missing_says = xasprintf("open %s: No such file or directory", missing);
	auto_free char *folder_says = xasprintf("%s is a folder, not a template file", folder);

	(void)state;
	use_environment(false);
	for (size_t i = 0; i < 4999; i++)
		long_one[i] = 'x';
	assert_error(missing, ERR_SYS, missing_says);
	assert_error(folder, ERR_INVALID, folder_says);
	assert_error("", ERR_INVALID, "1 to 4096 bytes");
	assert_error(long_one, ERR_INVALID, "1 to 4096 bytes");
	assert_error("both", ERR_NOTFOUND, "there is no file both; did you mean template:both?");
	assert_error("https://example.com/x.yaml", ERR_INVALID, "cannot be fetched here");
	assert_error("file://x.yaml", ERR_INVALID, "needs an absolute path");
	assert_error("github:lima-vm/lima", ERR_INVALID, "give the file's own address, https://raw.githubusercontent.com/");
	assert_error("github:lima-vm/lima/x.iso", ERR_INVALID, "github: is not supported");
	assert_error("foo:bar", ERR_INVALID, "scheme \"foo:\" is not supported (Lima asks a program limactl-url-foo)");
	assert_error("c:/x.yaml", ERR_SYS, "No such file");
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
	auto_free char *path = xasprintf("%s/My-VM.yaml", dir);
	int keep = dup(STDIN_FILENO), fd = open(path, O_RDONLY);
	struct err e;

	(void)state;
	assert_true(fd >= 0 && dup2(fd, STDIN_FILENO) == STDIN_FILENO);
	assert_int_equal(locator_read("-", NULL, NULL, &b, &e), 0);
	assert_string_equal(b.data, "file");
	assert_null(locator_instance_name("-"));
	assert_int_equal(lseek(STDIN_FILENO, 0, SEEK_SET), 0);
	assert_int_equal(locator_read("-", NULL, NULL, &small, &e), -1);
	assert_non_null(strstr(e.msg, "larger than 3 bytes"));
	assert_int_equal(locator_read("-", "sha256:00", NULL, &b, &e), -1);
	assert_non_null(strstr(e.msg, "the digest of standard input cannot be checked"));
	close(fd);
	dup2(keep, STDIN_FILENO);
	close(keep);
}

/* What the reader was asked for. */
struct asked {
	char *url, *digest;
};

static int read_url(void *arg, const char *url, const char *digest, struct buf *text, struct err *e)
{
	struct asked *a = arg;

	(void)e;
	free(a->url);
	free(a->digest);
	a->url = xstrdup(url);
	a->digest = digest ? xstrdup(digest) : NULL;
	return buf_adds(text, "fetched");
}

static void test_urls_and_digests_are_the_readers(void **state)
{
	auto_free char *plain = xasprintf("%s/plain", dir), *url = xasprintf("file://%s", plain);
	struct asked a = { 0 };
	struct embed_reader r = { read_url, &a };
	auto_buf b = BUF_INIT(TEXT_MAX);
	struct err e = { 0 };

	(void)state;
	assert_int_equal(locator_read("https://h/x.yaml", NULL, &r, &b, &e), 0);
	assert_string_equal(b.data, "fetched");
	assert_string_equal(a.url, "https://h/x.yaml");
	assert_null(a.digest);
	assert_int_equal(locator_read("http://h/x.yaml", "sha256:1", &r, &b, &e), 0);
	assert_string_equal(a.digest, "sha256:1");
	assert_int_equal(locator_read(url, "sha512:2", &r, &b, &e), 0);
	assert_string_equal(a.url, plain);
	assert_string_equal(a.digest, "sha512:2");
	free(a.url);
	free(a.digest);
}

struct relative {
	const char *base, *relative, *wanted; /* wanted "!": refused with what follows */
};

static void test_relative_locators(void **state)
{
	static const struct relative rows[] = {
		{ "/a/b.yaml", "c.yaml", "/a/c.yaml" },
		{ "/a/b.yaml", "./x/.//c.yaml", "/a/x/c.yaml" },
		{ "/b.yaml", "c.yaml", "/c.yaml" },
		{ "a/b.yaml", "c.yaml", "/tmp/a/c.yaml" },
		{ "b.yaml", "c.yaml", "/tmp/c.yaml" },
		{ "a/../b.yaml", "c", "/tmp/a/../c" },
		{ "file:///a/b.yaml", "c.yaml", "/a/c.yaml" },
		{ "/a/b.yaml", "/x//y.yaml", "/x/y.yaml" },
		{ "/a/b.yaml", "~/y.yaml", "/h/y.yaml" },
		{ "/a/b.yaml", "~", "/h" },
		{ "/a/b.yaml", "~y", "/a/~y" },
		{ "/a/b.yaml", "-", "-" },
		{ "/a/b.yaml", "https://h/p", "https://h/p" },
		{ "/a/b.yaml", "template:x", "template:x" },
		{ "/a/b.yaml", "github:x/y", "github:x/y" },
		{ "template:b", "c", "template:c" },
		{ "template:_images/b", "c.sh", "template:_images/c.sh" },
		{ "template://x/b", "c", "template:x/c" },
		{ "https://h/a/b.yaml", "c.yaml", "https://h/a/c.yaml" },
		{ "https://h/a/b.yaml?q=/x/y", "d/c.yaml", "https://h/a/d/c.yaml" },
		{ "https://h/b.yaml", "c.yaml", "https://h/c.yaml" },
		{ "https://h:80", "c.yaml", "https://h:80/c.yaml" },
		{ "-", "/abs", "/abs" },
		{ "-", "c.yaml", "!the template is read from standard input" },
		{ "/a/b.yaml", "../c.yaml", "!must not leave" },
		{ "/a/b.yaml", "x/../../c", "!must not leave" },
		{ "template:b", "..", "!must not leave" },
		{ "/a/b.yaml", "", "!1 to 4096 bytes" },
	};

	(void)state;
	setenv("HOME", "/h", 1);
	assert_int_equal(chdir("/tmp"), 0);
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct err e = { 0 };
		auto_free char *out = locator_resolve(rows[i].base, rows[i].relative, &e);
		bool refused = *rows[i].wanted == '!';

		if (refused ? out != NULL || !strstr(e.msg, rows[i].wanted + 1) : !out || strcmp(out, rows[i].wanted))
			fail_msg("%s, %s: %s", rows[i].base, rows[i].relative, out ? out : e.msg);
	}
}

static void test_an_image_becomes_a_template(void **state)
{
	static const char *const rows[][3] = {
		{ "https://example.com/lima-linux-riscv64.img",
		  "os: Linux\narch: riscv64\nimages:\n- location: 'https://example.com/lima-linux-riscv64.img'\n"
		  "  arch: riscv64\n", "lima-riscv64" },
		{ "https://h/it's.qcow2.xz", "os: Linux\nimages:\n- location: 'https://h/it''s.qcow2.xz'\n", "it's" },
		{ "x/FreeBSD-15.0-RELEASE-arm64-aarch64-BASIC-CLOUDINIT-zfs.raw.xz",
		  "os: FreeBSD\narch: aarch64\nimages:\n"
		  "- location: '/tmp/x/FreeBSD-15.0-RELEASE-arm64-aarch64-BASIC-CLOUDINIT-zfs.raw.xz'\n  arch: aarch64\n",
		  "freebsd-15.0-arm64-zfs" },
		{ "https://h/UniversalMac_15.6.1_24G90_Restore.ipsw",
		  "os: Darwin\narch: aarch64\nimages:\n- location: 'https://h/UniversalMac_15.6.1_24G90_Restore.ipsw'\n"
		  "  arch: aarch64\n", "macos-15.6.1" },
		{ "file:///x/debian-12-genericcloud-s390x-20240101-1.iso",
		  "os: Linux\narch: s390x\nimages:\n- location: 'file:///x/debian-12-genericcloud-s390x-20240101-1.iso'\n"
		  "  arch: s390x\n", "debian-12-s390x" },
		{ "https://h/Rocky-8-GenericCloud-Base-8-8.10-20240528.0.s390x.qcow2",
		  "os: Linux\narch: s390x\nimages:\n"
		  "- location: 'https://h/Rocky-8-GenericCloud-Base-8-8.10-20240528.0.s390x.qcow2'\n  arch: s390x\n",
		  "rocky-8-8.10.s390x" },
		{ "https://h/Arch-Linux-s390x-cloudimg.raw",
		  "os: Linux\narch: s390x\nimages:\n- location: 'https://h/Arch-Linux-s390x-cloudimg.raw'\n  arch: s390x\n",
		  "archlinux-s390x" },
	};

	(void)state;
	assert_int_equal(chdir("/tmp"), 0);
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		assert_text(rows[i][0], rows[i][1], rows[i][2]);
	assert_error("https://h/a\nb.iso", ERR_INVALID, "control characters");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_files_give_their_text_and_a_name),
		cmocka_unit_test(test_names_are_looked_up_in_order),
		cmocka_unit_test(test_an_unknown_name_lists_the_known_ones),
		cmocka_unit_test(test_templates_are_listed_once_and_in_order),
		cmocka_unit_test(test_what_is_no_template_is_said_in_one_sentence),
		cmocka_unit_test(test_an_unreadable_file_is_said),
		cmocka_unit_test(test_a_dash_is_standard_input),
		cmocka_unit_test(test_urls_and_digests_are_the_readers),
		cmocka_unit_test(test_relative_locators),
		cmocka_unit_test(test_an_image_becomes_a_template),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
