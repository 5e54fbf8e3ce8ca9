/* The golden seeds: tests/golden/seed/NAME.yaml becomes NAME.seed, every file with its mode, and what lima-init's rules read
 * of it NAME.lima-init. GOLDEN_UPDATE=1 writes them anew. */
#include "tests/unit/seed_util.h"

#include <glob.h>
#include <sys/stat.h>
#include <unistd.h>

#include "limactl-c/yaml/parse.h"
#include "tests/unit/tmp_dir.h"

static void add(struct buf *b, const char *text)
{
	assert_int_equal(buf_adds(b, text), 0);
}

/* Our own scripts are only named: they are their own golden files. So are the settings, with the plan. */
static void describe(const struct seed *s, struct buf *b)
{
	for (size_t i = 0; i < s->files; i++) {
		const struct seed_file *f = &s->file[i];

		assert_int_equal(buf_addf(b, "=== %04o %s%s%s\n", f->mode, f->path, f->source ? " <- " : "",
					  f->source ? f->source : ""), 0);
		if (!f->data || !strcmp(f->path, "lima/settings"))
			continue;
		assert_int_equal(buf_add(b, f->data, f->len), 0);
		if (f->len && f->data[f->len - 1] != '\n')
			add(b, "\n(no line end)\n");
	}
}

/* As a guest would find it, but for the modes the volume has. */
static void unpack(const struct seed *s, const char *dir)
{
	struct err e = { 0 };

	for (size_t i = 0; i < s->files; i++) {
		const struct seed_file *f = &s->file[i];
		auto_free char *path = xasprintf("%s/%s", dir, f->path), *folder = xstrndup(path, strrchr(path, '/') - path);

		if (fs_mkdirs(folder, 0700, &e) < 0 || fs_write_atomic(path, f->data ? f->data : "", f->len, f->mode, &e) < 0)
			fail_msg("%s", e.msg);
	}
}

static void compare(const struct buf *got, const char *yaml, const char *suffix)
{
	auto_free char *golden = xasprintf("%.*s.%s", (int)(strlen(yaml) - strlen(".yaml")), yaml, suffix);
	auto_buf want = BUF_INIT(1 << 20);
	struct err e;

	if (getenv("GOLDEN_UPDATE") && fs_write_atomic(golden, got->data, got->len, 0644, &e) < 0)
		fail_msg("%s", e.msg);
	read_text(golden, &want);
	if (want.len != got->len || memcmp(want.data, got->data, got->len))
		fail_msg("%s is not what comes out; diff it with a run of GOLDEN_UPDATE=1", golden);
}

static void check_golden(const char *yaml, const char *tmp)
{
	auto_free char *command = xasprintf("tests/helpers/lima-init %s/v >%s/read 2>&1", tmp, tmp);
	auto_free char *dir = xasprintf("%s/v", tmp), *read = xasprintf("%s/read", tmp);
	auto_buf text = BUF_INIT(1 << 20), got = BUF_INIT(1 << 20), facts = BUF_INIT(1 << 20);
	auto_seed s = { 0 };
	struct err e = { 0 };

	read_text(yaml, &text);
	if (seed_of("box", text.data, &s, &e) < 0)
		fail_msg("%s: %s", yaml, e.msg);
	describe(&s, &got);
	compare(&got, yaml, "seed");
	unpack(&s, dir);
	if (system(command) != 0)
		fail_msg("%s: %s fails", yaml, command);
	read_text(read, &facts);
	compare(&facts, yaml, "lima-init");
	assert_int_equal(fs_remove_tree(dir, &e), 0);
}

static void test_golden_seeds(void **state)
{
	glob_t g;

	assert_int_equal(glob("tests/golden/seed/*.yaml", 0, NULL, &g), 0);
	assert_true(g.gl_pathc >= 4);
	for (size_t i = 0; i < g.gl_pathc; i++)
		check_golden(g.gl_pathv[i], *state);
	globfree(&g);
}

/* Every script that a seed lists is there, and every one that is there is listed. */
static void test_scripts_are_there(void **state)
{
	auto_seed s = { 0 };
	struct err e;
	size_t listed = 0;
	glob_t g;

	(void)state;
	assert_int_equal(seed_of("box", IMAGE, &s, &e), 0);
	for (size_t i = 0; i < s.files; i++) {
		struct stat st;

		if (!s.file[i].source || strncmp(s.file[i].source, "provision/", 10))
			continue;
		listed++;
		if (stat(s.file[i].source, &st) < 0)
			fail_msg("%s is not there", s.file[i].source);
		if ((st.st_mode & 0111) != (s.file[i].mode & 0111))
			fail_msg("%s: mode %04o in the folder, %04o in the seed", s.file[i].source, st.st_mode & 0777, s.file[i].mode);
	}
	assert_int_equal(glob("provision/cloud/*.sh", 0, NULL, &g), 0);
	assert_int_equal(glob("provision/cloud/*/*", GLOB_APPEND, NULL, &g), 0);
	assert_int_equal(g.gl_pathc, listed);
	globfree(&g);
}

static char *iid_of(const char *name, const char *yaml)
{
	auto_seed s = { 0 };
	struct err e = { 0 };
	const char *text;

	if (seed_of(name, yaml, &s, &e) < 0)
		fail_msg("%s", e.msg);
	text = seed_text(&s, "meta-data");
	assert_memory_equal(text, "instance-id: iid-", 17);
	return xstrndup(text, strcspn(text, "\n"));
}

/* The id changes with what cloud-init does once an instance, and with nothing else. */
static void test_instance_id(void **state)
{
	static const struct {
		const char *name, *yaml;
		bool same;
	} rows[] = {
		{ "box", IMAGE, true },
		{ "box", IMAGE "cpus: 1\nmemory: 1GiB\ndisk: 10GiB\nmessage: hi\n", true },
		{ "box", IMAGE "env: {A: b}\nparam: {P: q}\n", true },
		{ "box", IMAGE "provision: [{script: \"#!/bin/sh\\ntrue\"}, {mode: boot, script: 'true'}]\n", true },
		{ "box", IMAGE "portForwards: [{guestPort: 80, hostPort: 8080}]\n", true },
		{ "box", IMAGE "additionalDisks: [logs]\n", true },
		{ "other", IMAGE, false },
		{ "box", IMAGE "user: {name: joe}\n", false },
		{ "box", IMAGE "user: {shell: /bin/sh}\n", false },
		{ "box", IMAGE "user: {uid: 1234}\n", false },
		{ "box", IMAGE "timezone: Europe/Paris\n", false },
		{ "box", IMAGE "mountType: 9p\nmounts: [{location: /srv}]\n", false },
		{ "box", IMAGE "dns: [9.9.9.9]\nhostResolver: {enabled: false}\n", false },
		{ "box", IMAGE "upgradePackages: true\n", false },
		{ "box", IMAGE "caCerts: {certs: [QQ==]}\n", false },
	};
	auto_free char *base = iid_of("box", IMAGE);

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		auto_free char *iid = iid_of(rows[i].name, rows[i].yaml);

		if (!strcmp(base, iid) != rows[i].same)
			fail_msg("row %zu: %s", i, rows[i].same ? "another id" : "the same id");
	}
}

/* The text of a provision script comes out as it went in, whatever is in it. */
static void test_scripts_byte_for_byte(void **state)
{
	static const char odd[] = "cat > /tmp/o.yaml <<'EOT'\ntop:\n  sub:\n    - \"x\"\n  tab:\tend\n"
				  "  price: $5 `date` \\n \"q\" 'p' #c\nEOT\n";
	auto_free char *large = xmalloc(200 * 1024 + 1);
	const char *const texts[] = { odd, large, "true", "\n\n  two\n\n" };

	(void)state;
	memset(large, 'x', 200 * 1024);
	for (size_t i = 79; i < 200 * 1024; i += 80)
		large[i] = '\n';
	large[200 * 1024] = '\0';
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		auto_buf yaml = BUF_INIT(1 << 20);
		auto_seed s = { 0 };
		struct err e = { 0 };

		add(&yaml, IMAGE "provision:\n- mode: boot\n  script: \"");
		for (const char *p = texts[i]; *p; p++)
			assert_int_equal(*p == '\n' ? buf_adds(&yaml, "\\n") : *p == '\t' ? buf_adds(&yaml, "\\t") :
					 strchr("\"\\", *p) ? buf_addf(&yaml, "\\%c", *p) : buf_add(&yaml, p, 1), 0);
		add(&yaml, "\"\n");
		assert_int_equal(seed_of("box", yaml.data, &s, &e), 0);
		assert_string_equal(seed_text(&s, "provision.boot/00000000"), texts[i]);
		assert_int_equal(seed_find(&s, "provision.boot/00000000")->mode, 0700);
	}
}

static const char *value_of(const struct ynode *map, const char *key)
{
	const struct ynode *n = yn_get(map, key);

	if (!n || n->kind != YN_STRING)
		fail_msg("%s is no text", key);
	return n->text;
}

/* A reader of YAML finds every value again, whatever is in it. */
static void test_values_come_back(void **state)
{
	static const char *const values[] = {
		"plain", "two words", "# none", "a # b", "it's", "say \"hi\"", "back\\slash\\n", "\xc3\xbcn\xc3\xaf", "- dash",
		"{brace}", "[list]", "& * ! | > % @ `", "true", "1e3", " blanks ", "\xe2\x80\xa8line", "\xf0\x9f\x90\xa7",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(values) / sizeof(*values); i++) {
		CLEANUP(findings_fini) struct findings f = { 0 };
		struct yn_pool *pool = yn_pool_new();
		auto_buf yaml = BUF_INIT(4096);
		const struct ynode *root, *user;
		auto_seed s = { 0 };
		struct err e = { 0 };
		const char *text;

		add(&yaml, IMAGE "user: {comment: \"");
		for (const char *p = values[i]; *p; p++)
			assert_int_equal(strchr("\"\\", *p) ? buf_addf(&yaml, "\\%c", *p) : buf_add(&yaml, p, 1), 0);
		add(&yaml, "\"}\n");
		assert_int_equal(seed_of("box", yaml.data, &s, &e), 0);
		text = seed_text(&s, "user-data");
		root = yn_parse(pool, "user-data", text, strlen(text), &f);
		if (!root)
			fail_msg("%s", finding_line(&f.item[0]));
		user = yn_get(root, "users")->item[0];
		assert_string_equal(value_of(user, "gecos"), values[i]);
		assert_string_equal(yn_get(user, "ssh_authorized_keys")->item[1]->text, seed_keys[1]);
		yn_pool_free(pool);
	}
}

static void test_what_is_refused(void **state)
{
	static const struct {
		const char *yaml, *says;
	} rows[] = {
		{ IMAGE "env: {A: \"one\\ntwo\"}\n", "A has a line break" },
		{ IMAGE "mountType: 9p\nmounts: [{location: /srv, mountPoint: \"/a\\nb\"}]\n", "mounts[].mountPoint" },
		{ IMAGE "timezone: \"x y\"\n", "time zone" },
		{ IMAGE "timezone: /etc/shadow\n", "time zone" },
		{ IMAGE "provision: [{mode: data, path: \"/a\\nb\", content: x}]\n", "_PATH has a line break" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		auto_seed s = { 0 };
		struct err e = { 0 };

		if (seed_of("box", rows[i].yaml, &s, &e) == 0)
			fail_msg("row %zu is taken", i);
		assert_int_equal(e.kind, ERR_INVALID);
		if (!strstr(e.msg, rows[i].says))
			fail_msg("row %zu: \"%s\"", i, e.msg);
		assert_int_equal(s.files, 0);
	}
}

/* What another user of the guest must not read is not in a file that anybody may read by its mode either. */
static void test_secrets_are_roots(void **state)
{
	static const char *const open[] = { "user-data", "meta-data", "network-config" };
	auto_seed s = { 0 };
	struct err e;

	(void)state;
	assert_int_equal(seed_of("box", IMAGE "param: {TOKEN: s3cret}\nenv: {KEY: s3cret}\n"
				 "provision: [{script: \"#!/bin/sh\\n: s3cret {{.Param.TOKEN}}\"}]\n", &s, &e), 0);
	for (size_t i = 0; i < s.files; i++) {
		bool public = false;

		for (size_t k = 0; k < 3; k++)
			public |= !strcmp(s.file[i].path, open[k]);
		if (s.file[i].data && !public)
			assert_int_equal(s.file[i].mode & 077, 0);
		if (public)
			assert_null(strstr(s.file[i].data, "s3cret"));
	}
	/* The options everybody's mode gives way to. */
	assert_non_null(strstr(seed_text(&s, "user-data"), "-o ro,mode=0700,dmode=0700,overriderockperm,exec,uid=0 "));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_golden_seeds, tmp_dir_make, tmp_dir_remove),
		cmocka_unit_test(test_scripts_are_there),
		cmocka_unit_test(test_instance_id),
		cmocka_unit_test(test_scripts_byte_for_byte),
		cmocka_unit_test(test_values_come_back),
		cmocka_unit_test(test_what_is_refused),
		cmocka_unit_test(test_secrets_are_roots),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
