/* The templates shipped, and those of tests/golden/templates: with their bases, and on both architectures, they are right.
 * Run from the repository's root. */
#include "tests/unit/cfg_util.h"

#include <glob.h>

#include "limactl-c/config/embed.h"
#include "limactl-c/config/locator.h"
#include "limactl-c/yaml/emit.h"
#include "limactl-c/yaml/parse.h"

/* The template's text with its bases in it. */
static void embedded(const char *path, struct buf *out)
{
	auto_pool p = yn_pool_new();
	auto_buf text = BUF_INIT(YN_TEXT_MAX);
	const struct ynode *root = NULL;
	struct findings f = { 0 };
	struct err e;

	if (locator_read(path, NULL, NULL, &text, &e) == 0)
		root = yn_parse_one(p, path, text.data, text.len, &e);
	if (root)
		root = embed_template(p, root, path, &(struct embed){ .all = true }, &f);
	if (!root || f.errors || yn_emit(root, out) < 0)
		fail_msg("%s: %s", path, f.errors ? f.item[0].text : e.msg);
}

static struct loaded loaded(const char *path, const char *arch)
{
	auto_buf text = BUF_INIT(YN_TEXT_MAX);
	struct cfg_host h = cfg_test_host;

	h.arch = arch;
	h.home = "/mnt"; /* mounted by some, so it has to be there */
	embedded(path, &text);
	return load(text.data, &h);
}

static void assert_right(const char *pattern, size_t least, bool silent)
{
	static const char *const arches[] = { "x86_64", "aarch64" };
	glob_t found;

	assert_int_equal(glob(pattern, 0, NULL, &found), 0);
	assert_in_range(found.gl_pathc, least, 1000);
	for (size_t i = 0; i < 2 * found.gl_pathc; i++) {
		const char *path = found.gl_pathv[i / 2];
		auto_loaded l = loaded(path, arches[i % 2]);

		if (!l.ok || (silent && *l.lines))
			fail_msg("%s on %s: %s", path, arches[i % 2], l.lines);
	}
	globfree(&found);
}

/* Without a warning, too. */
static void test_shipped_templates_are_right(void **state)
{
	(void)state;
	assert_right("templates/*.yaml", 10, true);
	assert_right("templates/_images/*.yaml", 8, true);
}

static void test_rare_templates_are_right(void **state)
{
	(void)state;
	assert_right("tests/golden/templates/*.yaml", 12, false);
}

/* The steps that were found by hand to make an idle Docker host cost nothing have their keys in each of its templates. */
static void test_docker_hosts_are_tuned(void **state)
{
	(void)state;
	for (size_t i = 0; i < 4; i++) {
		static const char *const paths[] = { "templates/minimal-docker.yaml", "templates/default.yaml",
						     "templates/minimal-docker-offline.yaml",
						     "templates/minimal-docker-iso.yaml" };
		auto_loaded l = loaded(paths[i], "aarch64");
		bool iso = strstr(paths[i], "-iso"), lean = !strcmp(l.cfg.guest.init, "lean");

		assert_true(l.cfg.tuning.init_on_free && l.cfg.tuning.cache_trim);
		assert_true(l.cfg.tuning.fstrim_boot && l.cfg.tuning.fstrim_stop);
		assert_true(l.cfg.tuning.syslog_ring == 64 << 10);
		assert_true(l.cfg.tuning.docker_log_size && l.cfg.tuning.docker_log_files && l.cfg.tuning.build_cache);
		/* Of a live ISO the root, with /var/log, is in memory, and there is neither GRUB nor cloud-init. */
		assert_true(iso || (l.cfg.tuning.tmpfs_var_log && l.cfg.tuning.commit == 60));
		assert_true(iso || lean || (l.cfg.tuning.skip_boot_menu && l.cfg.tuning.no_cloud_init_hotplug));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_shipped_templates_are_right),
		cmocka_unit_test(test_rare_templates_are_right),
		cmocka_unit_test(test_docker_hosts_are_tuned),
	};

	setenv("LIMA_TEMPLATES_PATH", "templates", 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
