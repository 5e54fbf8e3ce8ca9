/* The golden configurations: tests/golden/config/NAME.yaml becomes tests/golden/config/NAME.json. UPDATE=1 writes them
 * anew. Run from the root. */
#include "tests/unit/cfg_util.h"

#include <glob.h>

#include "lib/io.h"
#include "limactl-c/base/mem.h"
#include "limactl-c/yaml/emit.h"

#define DIR "tests/golden/config/"

static char *read_text(const char *path)
{
	struct buf b = BUF_INIT(1 << 20);
	struct err e;

	if (io_read_file(path, &b, &e) < 0)
		fail_msg("%s", e.msg);
	return b.data;
}

static char *pretty(const struct cfg *c)
{
	auto_pool p = yn_pool_new();
	struct buf b = BUF_INIT(1 << 20);

	assert_int_equal(yn_json(cfg_tree(c, p), 2, &b), 0);
	buf_adds(&b, "\n");
	return b.data;
}

static void write_text(const char *path, const char *text)
{
	auto_fclose FILE *f = fopen(path, "w");

	assert_non_null(f);
	assert_true(fputs(text, f) >= 0);
}

/* Also as YAML, and read again from either: the same comes out. */
static void check_fixed_point(const struct cfg *c, const char *json, const char *name)
{
	auto_pool p = yn_pool_new();
	auto_buf yaml = BUF_INIT(1 << 20);

	assert_int_equal(yn_emit(cfg_tree(c, p), &yaml), 0);
	auto_loaded from_json = load_ok(json), from_yaml = load_ok(yaml.data);
	auto_free char *first = pretty(&from_json.cfg), *second = pretty(&from_yaml.cfg);

	if (strcmp(first, json))
		fail_msg("%s: read from its JSON it is\n%s", name, first);
	if (strcmp(second, json))
		fail_msg("%s: read from its YAML it is\n%s", name, second);
}

static void check_golden(const char *path)
{
	auto_free char *golden = xasprintf("%.*s.json", (int)(strlen(path) - strlen(".yaml")), path);
	auto_free char *text = read_text(path);
	auto_loaded l = load_ok(text);
	auto_free char *have = pretty(&l.cfg);

	if (getenv("UPDATE"))
		write_text(golden, have);
	auto_free char *want = read_text(golden);

	if (strcmp(have, want))
		fail_msg("%s is not what comes out; diff it with a run of UPDATE=1", golden);
	check_fixed_point(&l.cfg, have, path);
}

static void test_golden_configurations(void **state)
{
	glob_t g;

	(void)state;
	assert_int_equal(glob(DIR "*.yaml", 0, NULL, &g), 0);
	assert_true(g.gl_pathc >= 7);
	for (size_t i = 0; i < g.gl_pathc; i++)
		check_golden(g.gl_pathv[i]);
	globfree(&g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_golden_configurations),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
