/* Bases and files read into a template. */
#include "tests/unit/merge_util.h"

#include <unistd.h>

#include "lib/io.h"
#include "limactl-c/base/fs.h"
#include "limactl-c/base/mem.h"
#include "limactl-c/config/embed.h"
#include "limactl-c/yaml/patch.h"

enum { TEXT_MAX = 1 << 20 };

static char dir[] = "/tmp/lc-embed.XXXXXX";

static void put_bytes(const char *name, const char *text, size_t n)
{
	auto_free char *path = xasprintf("%s/%s", dir, name), *folder = fs_parent(path);
	struct err e = { 0 };

	if (fs_mkdirs(folder, 0700, &e) < 0 || fs_write_atomic(path, text, n, 0600, &e) < 0)
		fail_msg("%s", e.msg);
}

static void put(const char *name, const char *text)
{
	put_bytes(name, text, strlen(text));
}

/* Files of a row: "NAME", "TEXT", … up to NULL. The first is the template. */
enum { FILES = 7 };
struct row {
	const char *what;
	const char *file[2 * FILES];
	const char *wanted; /* "!…": the error says so */
};

static int group_setup(void **state)
{
	auto_free char *share = NULL;

	(void)state;
	if (!mkdtemp(dir))
		return -1;
	share = xasprintf("%s/share", dir);
	setenv("LIMA_TEMPLATES_PATH", share, 1);
	return 0;
}

static int group_teardown(void **state)
{
	struct err e;

	(void)state;
	return fs_remove_tree(dir, &e);
}

/* URLs: the text is the URL itself as param.url; a digest must be "sha256:good". */
static int read_url(void *arg, const char *url, const char *digest, struct buf *text, struct err *e)
{
	(void)arg;
	if (digest && strcmp(digest, "sha256:good"))
		return err_set(e, ERR_INVALID, "%s: digest is another", url);
	if (strstr(url, ".sh"))
		return buf_addf(text, "#!/bin/sh\n# %s\n", url);
	return buf_addf(text, "param: {url: \"%s\"}\n%s", url, strstr(url, "next") ? "base: b.yaml" : "");
}

static const struct embed_reader reader = { read_url, NULL };

/* NULL when there are mistakes; *e is the first one then. */
static struct ynode *embedded(const struct ynode *root, const char *locator, const struct embed *how, struct err *e)
{
	struct findings f = { 0 };
	struct ynode *out = embed_template(pool, root, locator, how, &f);

	if (f.errors) {
		auto_free char *line = finding_line(&f.item[0]);

		err_set(e, ERR_INVALID, "%s", line);
		out = NULL;
	}
	findings_fini(&f);
	return out;
}

static struct ynode *run(const struct row *r, const struct embed *how, struct err *e)
{
	auto_free char *path = xasprintf("%s/%s", dir, r->file[0]);
	const struct ynode *root;

	for (size_t i = 0; r->file[i]; i += 2)
		put(r->file[i], r->file[i + 1]);
	root = yn_parse_one(pool, path, r->file[1], strlen(r->file[1]), e);
	if (!root)
		fail_msg("%s: %s", r->what, e->msg);
	return embedded(root, strncmp(r->file[0], "share/", 6) ? path : yn_printf(pool, "template:%s", r->file[0] + 6), how, e);
}

static void check(const struct row *r, const struct embed *how)
{
	struct err e = { 0 };
	struct ynode *out = run(r, how, &e);
	bool refused = *r->wanted == '!';

	if (refused ? out || !strstr(e.msg, r->wanted + 1) : !out)
		fail_msg("%s: %s", r->what, out ? "is accepted" : e.msg);
	if (!refused)
		assert_alike(r->what, "", out, tree("wanted", r->wanted));
}

static const struct row rows[] = {
	{ "no base", { "t.yaml", "cpus: 1" }, "cpus: 1" },
	{ "null and an empty list are none", { "t.yaml", "base:\ncpus: 1" }, "cpus: 1" },
	{ "an empty list is none", { "t.yaml", "base: []\ncpus: 1" }, "cpus: 1" },
	{ "a word", { "t.yaml", "base: b.yaml\ncpus: 1", "b.yaml", "cpus: 2\nmemory: 1GiB" },
	  "cpus: 1\nmemory: 1GiB" },
	{ "a mapping", { "t.yaml", "base: {url: b.yaml}", "b.yaml", "cpus: 2" }, "cpus: 2" },
	{ "an empty base", { "t.yaml", "base: b.yaml\ncpus: 1", "b.yaml", "# nothing\n" }, "cpus: 1" },
	{ "merge keys are the template's own", { "t.yaml", "x: &x {cpus: 1}\n<<: *x\nbase: b.yaml", "b.yaml", "cpus: 2" },
	  "x: {cpus: 1}\ncpus: 1" },
	{ "but stay where nothing is embedded", { "t.yaml", "x: &x {cpus: 1}\n<<: *x" },
	  "x: {cpus: 1}\n\"<<\": {cpus: 1}" },
	{ "a base by a merge key", { "t.yaml", "x: &x {base: b.yaml}\n<<: *x", "b.yaml", "cpus: 2" },
	  "x: {base: b.yaml}\ncpus: 2" },
	{ "a base's merge keys", { "t.yaml", "base: b.yaml", "b.yaml", "x: &x {cpus: 1}\n<<: *x" }, "x: {cpus: 1}\ncpus: 1" },
	{ "what cannot be merged", { "t.yaml", "base: b.yaml", "b.yaml", "<<: 5" }, "!b.yaml:1:5: `<<` merges mappings" },
	{ "depth first", { "t.yaml", "base: [1.yaml, {url: 2.yaml}]\nadditionalDisks: [disk0]", "1.yaml",
	    "base: 3.yaml\nadditionalDisks: [disk1]", "2.yaml", "additionalDisks: [disk2]", "3.yaml",
	    "additionalDisks: [disk3]" }, "additionalDisks: [disk0, disk1, disk3, disk2]" },
	{ "the first base wins over the second", { "t.yaml", "base: [1.yaml, 2.yaml]", "1.yaml", "cpus: 1",
	    "2.yaml", "cpus: 2" }, "cpus: 1" },
	{ "scripts of the deepest base run first", { "t.yaml", "base: [1.yaml, 2.yaml]\nprovision: [{script: t}]",
	    "1.yaml", "base: 3.yaml\nprovision: [{script: 1}]", "2.yaml", "provision: [{script: 2}]", "3.yaml",
	    "provision: [{script: 3}]" }, "provision: [{script: 2}, {script: 3}, {script: 1}, {script: t}]" },
	{ "a star reaches over bases", { "t.yaml", "base: [1.yaml, 2.yaml]\nadditionalDisks: [a]", "1.yaml",
	    "additionalDisks: [b]", "2.yaml", "additionalDisks: [{name: \"*\", format: true}, c]" },
	  "additionalDisks: [{name: a, format: true}, {name: b, format: true}, c]" },
	{ "each base is seen from its own folder", { "t.yaml", "base: x/1.yaml", "x/1.yaml",
	    "base: y/2.yaml\nprovision: [{file: s.sh}]", "x/y/2.yaml", "probes: [{file: {url: s.sh}}]", "x/s.sh",
	    "one", "x/y/s.sh", "two" }, "provision: [{script: one}]\nprobes: [{script: two}]" },
	{ "template: of a file, and relative ones of it", { "t.yaml", "base: template:_images/x",
	    "share/_images/x.yaml", "base: y\nprovision: [{file: z.sh}]", "share/_images/y.yaml", "cpus: 3",
	    "share/_images/z.sh", "z" }, "cpus: 3\nprovision: [{script: z}]" },
	{ "relative to a template:", { "share/top.yaml", "base: low", "share/low.yaml", "cpus: 5" }, "cpus: 5" },
	{ "URLs, and relative ones of them", { "t.yaml",
	    "base: https://h/d/next.yaml\nprovision: [{file: http://h/x.sh}]" },
	  "param: {url: https://h/d/next.yaml}\nprovision: [{script: \"#!/bin/sh\\n# http://h/x.sh\\n\"}]" },
	{ "the digest of a URL", { "t.yaml", "base: {url: \"https://h/b.yaml\", digest: sha256:good}" },
	  "param: {url: https://h/b.yaml}" },
	{ "of another", { "t.yaml", "\nbase:\n- {url: \"https://h/b.yaml\", digest: sha256:bad}" },
	  "!t.yaml:3:3: base: https://h/b.yaml: digest is another" },
	{ "an image", { "t.yaml", "base: https://h/lima-linux-riscv64.img" },
	  "arch: riscv64\nos: Linux\nimages: [{location: https://h/lima-linux-riscv64.img, arch: riscv64}]" },
	{ "a script's name is no image's", { "t.yaml", "provision: [{mode: data, file: a.img}]", "a.img",
	    "text\n" }, "provision: [{mode: data, content: \"text\\n\"}]" },
	{ "files by mode", { "t.yaml",
	    "provision:\n- {file: a}\n- {mode: data, file: a, path: /p}\n- {mode: yq, file: {url: a}}\n"
	    "- {mode: boot, file: a, script: \"\"}\nprobes: [{mode: data, file: a}]", "a", "text\n" },
	  "provision: [{script: \"text\\n\"}, {mode: data, content: \"text\\n\", path: /p},"
	  " {mode: yq, expression: \"text\\n\"},"
	  " {mode: boot, script: \"text\\n\"}]\nprobes: [{mode: data, script: \"text\\n\"}]" },
	{ "a file beside a script is left to the check", { "t.yaml",
	    "provision: [{file: /none, script: x}, {file: /none, mode: data, content: \"\"}]" },
	  "provision: [{file: /none, script: x}, {file: /none, mode: data, content: \"\"}]" },
	{ "a base of itself", { "t.yaml", "base: t.yaml" }, "!t.yaml:1:7: base: is a base of itself: " },
	{ "a loop", { "t.yaml", "base: a.yaml", "a.yaml", "base: b.yaml", "b.yaml", "cpus: 1\nbase: [a.yaml]" },
	  "!b.yaml:2:8: base: is a base of itself: " },
	{ "a base twice", { "t.yaml", "base: [a.yaml, b.yaml]", "a.yaml", "base: b.yaml", "b.yaml", "cpus: 1" },
	  "!/b.yaml is included twice, first by " },
	{ "a missing one", { "t.yaml", "cpus: 1\nbase: none.yaml" }, "!t.yaml:2:7: base: open " },
	{ "a missing template names the nearest", { "t.yaml", "base: template:lwo", "share/low.yaml", "" },
	  "!did you mean low?" },
	{ "a missing file", { "t.yaml", "provision:\n- file: none.sh" }, "!t.yaml:2:9: provision[].file: open " },
	{ "out of the folder", { "t.yaml", "base: ../b.yaml" },
	  "!t.yaml:1:7: base: ../b.yaml: a relative locator must not leave" },
	{ "another's scheme", { "t.yaml", "base: github:lima-vm/lima" }, "!github: is not supported" },
	{ "what is no locator", { "t.yaml", "base: 5" }, "!t.yaml:1:7: base: must be a locator" },
	{ "nothing in a list", { "t.yaml", "base: [a.yaml, ]\n", "a.yaml", "base: [~]" },
	  "!a.yaml:1:8: base: must be a locator" },
	{ "a mapping without url", { "t.yaml", "base: {digest: x}" }, "!base: must be a locator" },
	{ "empty text", { "t.yaml", "base: \"\"" }, "!a locator must have 1 to 4096 bytes" },
	{ "a base that is a list", { "t.yaml", "base: b.yaml", "b.yaml", "- a" },
	  "!b.yaml is no template: it must be a mapping, not a list" },
	{ "a base that is not YAML", { "t.yaml", "base: b.yaml", "b.yaml", "a: [" }, "!/b.yaml:2:1: did not" },
	{ "a digest that is misspelt", { "t.yaml", "base: {url: b.yaml, digets: x}", "b.yaml", "" },
	  "!t.yaml:1:21: base: unknown key `digets`; did you mean digest?" },
	{ "a file's too", { "t.yaml", "probes:\n- file: {url: b, size: x}", "b", "" },
	  "!t.yaml:2:18: probes[].file: unknown key `size`; a locator has url and digest" },
};

static void test_bases(void **state)
{
	struct embed how = { .reader = &reader, .all = true };

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		check(&rows[i], &how);
}

/* --embed: what template: names stays named. */
static void test_template_locators_may_stay(void **state)
{
	static const struct row some[] = {
		{ "a template: stays", { "t.yaml", "base: template:low\nprovision: [{file: template:x.sh}]",
		    "share/low.yaml", "cpus: 1" }, "base: template:low\nprovision: [{file: template:x.sh}]" },
		{ "files are embedded", { "t.yaml", "base: b.yaml\nprovision: [{file: s}]", "b.yaml",
		    "base: template:low", "s", "text" }, "base: [template:low]\nprovision: [{script: text}]" },
		{ "several", { "t.yaml", "base: [b.yaml, template:y]", "b.yaml",
		    "base: [template:low, {url: template:x}]" },
		  "base: [template:low, {url: template:x}, template:y]" },
		{ "what comes behind must stay too", { "t.yaml", "base: [template:low, b.yaml]", "b.yaml", "" },
		  "!t.yaml:1:22: base: cannot be embedded behind a template: that is not" },
		{ "what a base leaves comes first", { "t.yaml", "base: [b.yaml, c.yaml]", "b.yaml",
		    "base: template:low", "c.yaml", "" }, "!base: cannot be embedded behind" },
	};
	struct embed how = { .reader = &reader };

	(void)state;
	for (size_t i = 0; i < sizeof(some) / sizeof(*some); i++)
		check(&some[i], &how);
}

static void test_the_users_base_comes_first(void **state)
{
	static const struct row some[] = {
		{ "alone", { "t.yaml", "cpus: 1" }, "cpus: 1\nmemory: 7GiB\ndisk: 1GiB" },
		{ "before a word", { "t.yaml", "base: b.yaml", "b.yaml", "memory: 1GiB" },
		  "memory: 7GiB\ndisk: 1GiB" },
		{ "before a list", { "t.yaml", "base: [b.yaml]", "b.yaml", "base: c.yaml", "c.yaml",
		    "disk: 2GiB\nmemory: 2GiB" }, "memory: 7GiB\ndisk: 1GiB" },
	};
	auto_free char *first = xasprintf("%s/home/base.yaml", dir);
	struct embed how = { .first = first, .all = true };

	(void)state;
	put("home/base.yaml", "memory: 7GiB\nbase: low.yaml\n");
	put("home/low.yaml", "disk: 1GiB\n");
	for (size_t i = 0; i < sizeof(some) / sizeof(*some); i++)
		check(&some[i], &how);
}

/* One that cannot be read does not hide the others, nor what is wrong in those that can. */
static void test_every_mistake_is_found(void **state)
{
	static const char text[] = "base: [none.yaml, b.yaml, gone.yaml]\nprovision: [{file: lost.sh}]\n";
	static const char *const wanted[] = {
		"/b.yaml:2:1: key `cpus` is given twice, first on line 1",
		"/b.yaml:3:5: `<<` merges mappings, not text",
		"/b.yaml:4:17: probes[].file: open ",
		"/t.yaml:1:8: base: open ",
		"/t.yaml:1:27: base: open ",
		"/t.yaml:2:20: provision[].file: open ",
	};
	auto_free char *path = xasprintf("%s/t.yaml", dir);
	struct embed how = { .all = true };
	struct findings f = { 0 };
	struct err e;
	const struct ynode *out;

	(void)state;
	put("b.yaml", "cpus: 1\ncpus: 2\n<<: x\nprobes: [{file: nothing.sh}]\n");
	out = embed_template(pool, yn_parse_one(pool, path, text, strlen(text), &e), path, &how, &f);
	assert_string_equal(yn_get(out, "cpus")->text, "1");
	findings_sort(&f);
	assert_int_equal(f.errors, sizeof(wanted) / sizeof(*wanted));
	for (size_t i = 0; i < f.count; i++) {
		auto_free char *line = finding_line(&f.item[i]);

		if (!strstr(line, wanted[i]))
			fail_msg("%s\nhas no %s", line, wanted[i]);
	}
	findings_fini(&f);
}

static void test_locators_made_absolute(void **state)
{
	struct ynode *n = tree("f", "base: [a.yaml, {url: b.yaml}, template:x, \"-\"]\n"
				    "provision: [{file: c.sh}]\nprobes: [{file: {url: /d}}]");
	struct findings f = { 0 };

	(void)state;
	assert_int_equal(embed_absolute(pool, n, "/x/t.yaml", &f), 0);
	assert_alike("absolute", "", n, tree("wanted", "base: [/x/a.yaml, {url: /x/b.yaml}, template:x, \"-\"]\n"
				     "provision: [{file: /x/c.sh}]\nprobes: [{file: {url: /d}}]"));
	n = tree("f", "provision: [{file: c.sh}]");
	assert_int_equal(embed_absolute(pool, n, "-", &f), -1);
	assert_string_equal(f.item[0].path, "provision[].file");
	assert_non_null(strstr(f.item[0].text, "c.sh: is relative, but the template is read from standard input"));
	findings_fini(&f);
}

static struct ynode *script_of(const char *bytes, size_t n)
{
	struct row r = { "bytes", { "t.yaml", "provision: [{file: bytes}]" }, "" };
	struct embed how = { .all = true };
	struct err e = { 0 };
	struct ynode *out;

	put_bytes("bytes", bytes, n);
	out = run(&r, &how, &e);
	if (!out)
		fail_msg("%s", e.msg);
	return yn_get(yn_get(out, "provision")->item[0], "script");
}

static void test_bytes_survive(void **state)
{
	static const struct {
		const char *bytes;
		size_t n;
		enum yn_style style;
	} some[] = {
		{ "#!/bin/sh\n\tx \xc3\xa4\n", 15, YN_LITERAL },
		{ "", 0, YN_LITERAL },
		{ "a\0b", 3, YN_BINARY },
		{ "\x7f" "ELF", 4, YN_BINARY },
		{ "\xff\xfe", 2, YN_BINARY },
		{ "a\rb\n", 4, YN_BINARY },
	};
	auto_free char *line = xcalloc(1, 65002);

	(void)state;
	for (size_t i = 0; i < sizeof(some) / sizeof(*some); i++) {
		struct ynode *n = script_of(some[i].bytes, some[i].n);

		assert_int_equal(n->style, some[i].style);
		assert_int_equal(n->len, some[i].n);
		assert_memory_equal(n->text, some[i].bytes, some[i].n);
		assert_int_equal(yn_place(n).line, 1); /* where the file was named */
	}
	memset(line, 'x', 65001);
	assert_int_equal(script_of(line, 65000)->style, YN_LITERAL);
	assert_int_equal(script_of(line, 65001)->style, YN_BINARY);
}

/* A base of bases, each file once, up to what is allowed. */
static void test_how_many_is_bounded(void **state)
{
	struct embed how = { .all = true };
	struct row r = { "deep", { "0.yaml", "base: 1.yaml" }, "!more than 256 bases, or 32 one in the other" };
	auto_free char *large = xcalloc(1, (2 << 20) + 1);
	struct err e = { 0 };

	(void)state;
	for (int i = 1; i < 40; i++) {
		auto_free char *name = xasprintf("%d.yaml", i), *text = xasprintf("base: %d.yaml", i + 1);

		put(name, text);
	}
	check(&r, &how);
	put("32.yaml", "cpus: 9");
	r.wanted = "cpus: 9";
	check(&r, &how);
	memset(large, '#', 2 << 20);
	put("large", large);
	r = (struct row){ "large", { "t.yaml", "provision: [{file: large}]" }, "" };
	assert_non_null(run(&r, &how, &e));
	r = (struct row){ "large", { "t.yaml", "provision: [{file: large}, {file: large}, {file: large}]" },
			  "!with its bases and files it is larger than 4 MiB" };
	check(&r, &how);
}

static void test_standard_input_is_a_base(void **state)
{
	struct row r = { "-", { "t.yaml", "base: \"-\"" }, "cpus: 6" };
	struct row again = { "- twice", { "t.yaml", "base: [\"-\", \"-\"]" }, "!included twice" };
	struct embed how = { .all = true };
	int keep = dup(STDIN_FILENO), end[2];

	(void)state;
	assert_int_equal(pipe(end), 0);
	assert_int_equal(write(end[1], "cpus: 6\n", 8), 8);
	close(end[1]);
	assert_int_equal(dup2(end[0], STDIN_FILENO), STDIN_FILENO);
	check(&r, &how);
	check(&again, &how);
	close(end[0]);
	dup2(keep, STDIN_FILENO);
	close(keep);
}

static void test_what_is_given_is_not_changed(void **state)
{
	struct row r = { "t", { "t.yaml", "base: b.yaml\nmounts: [{location: /a}]", "b.yaml",
				"mounts: [{location: /a, writable: true}]" }, "" };
	struct embed how = { .all = true };
	struct err e = { 0 };
	struct ynode *out = run(&r, &how, &e), *mount;

	(void)state;
	assert_non_null(out);
	mount = yn_get(out, "mounts")->item[0];
	assert_non_null(strstr(yn_place(yn_get(mount, "location")).file, "/t.yaml"));
	assert_non_null(strstr(yn_place(yn_get(mount, "writable")).file, "/b.yaml"));
	assert_int_equal(mount->origin->count, 1);
}

/* A text of the repository: tests run from its root. */
static const struct ynode *golden(const char *path, struct buf *text)
{
	struct err e = { 0 };
	const struct ynode *root = NULL;

	if (io_read_file(path, text, &e) < 0 || !(root = yn_parse_one(pool, path, text->data, text->len, &e)))
		fail_msg("%s", e.msg);
	return root;
}

static void test_the_text_keeps_its_comments_and_gets_those_of_bases(void **state)
{
	static const char path[] = "tests/golden/embed/template.yaml";
	struct embed how = { .all = true };
	auto_buf text = BUF_INIT(TEXT_MAX), wanted = BUF_INIT(TEXT_MAX), out = BUF_INIT(TEXT_MAX);
	struct err e = { 0 };
	const struct ynode *root = golden(path, &text), *now;

	(void)state;
	golden("tests/golden/embed/embedded.yaml", &wanted);
	now = embedded(root, path, &how, &e);
	if (!now || yn_patch(root, now, &out, &e) < 0)
		fail_msg("%s", e.msg);
	assert_string_equal(out.data, wanted.data);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_bases, pool_make, pool_drop),
		cmocka_unit_test_setup_teardown(test_template_locators_may_stay, pool_make, pool_drop),
		cmocka_unit_test_setup_teardown(test_the_users_base_comes_first, pool_make, pool_drop),
		cmocka_unit_test_setup_teardown(test_every_mistake_is_found, pool_make, pool_drop),
		cmocka_unit_test_setup_teardown(test_locators_made_absolute, pool_make, pool_drop),
		cmocka_unit_test_setup_teardown(test_bytes_survive, pool_make, pool_drop),
		cmocka_unit_test_setup_teardown(test_how_many_is_bounded, pool_make, pool_drop),
		cmocka_unit_test_setup_teardown(test_standard_input_is_a_base, pool_make, pool_drop),
		cmocka_unit_test_setup_teardown(test_what_is_given_is_not_changed, pool_make, pool_drop),
		cmocka_unit_test_setup_teardown(test_the_text_keeps_its_comments_and_gets_those_of_bases, pool_make,
						pool_drop),
	};

	return cmocka_run_group_tests(tests, group_setup, group_teardown);
}
