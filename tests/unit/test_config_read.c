/* cfg_read: three texts become one, every finding names its own file; places survive into the tree. */
#include "tests/unit/cfg_util.h"

#include "limactl-c/config/merge.h"
#include "limactl-c/config/where.h"
#include "limactl-c/yaml/parse.h"

static struct cfg_text named(const char *name, const char *text)
{
	return (struct cfg_text){ name, text, strlen(text) };
}

static struct loaded load_layers(const char *defaults, const char *instance, const char *override)
{
	struct cfg_input in = input_of(instance);

	if (defaults)
		in.defaults = named("default.yaml", defaults);
	if (override)
		in.override = named("override.yaml", override);
	return read_input(&in);
}

static void test_override_wins_over_instance_wins_over_default(void **state)
{
	auto_loaded l = load_layers("cpus: 1\nmemory: 1GiB\ndisk: 1GiB\n", IMAGE "cpus: 2\nmemory: 2GiB\n",
				    "cpus: 3\n");

	(void)state;
	assert_true(l.ok);
	assert_int_equal(l.cfg.cpus, 3);
	assert_true(l.cfg.memory == (uint64_t)2 << 30);
	assert_true(l.cfg.disk == (uint64_t)1 << 30);
}

static void test_each_finding_names_its_own_file(void **state)
{
	auto_loaded l = load_layers("cpus: x\nsshh: {}\n", IMAGE "memory: y\n",
				    "dns: [z]\nhostResolver: {enabled: false}\n");

	(void)state;
	assert_false(l.ok);
	assert_string_equal(l.lines,
			    "default.yaml:1:7: cpus: must be a whole number, not text\n"
			    "default.yaml:2:1: sshh: unknown key; did you mean ssh?\n"
			    "override.yaml:1:7: dns[0]: must be an IP address; got \"z\"\n"
			    "t.yaml:2:9: memory: \"y\" is not a size; write for example 512MiB, 4GiB or 1.5GiB\n");
}

static void test_elements_of_joined_lists_keep_their_places(void **state)
{
	auto_loaded l = load_layers("portForwards: [{guestPort: 22}]\n",
				    IMAGE "portForwards:\n- {guestPort: 1}\n- {guestPort: 22}\n", NULL);

	(void)state;
	assert_false(l.ok);
	assert_string_equal(l.lines,
			    "default.yaml:1:28: portForwards[2].guestPort: must not be 22, the host's own ssh\n"
			    "t.yaml:4:15: portForwards[1].guestPort: must not be 22, the host's own ssh\n");
}

static void test_a_layer_that_is_no_yaml_is_named(void **state)
{
	auto_loaded l = load_layers("a: [\n", IMAGE "cpus: x\n", NULL);

	(void)state;
	assert_false(l.ok);
	assert_non_null(strstr(l.lines, "default.yaml:"));
	auto_loaded list = load_layers("- a\n", IMAGE, NULL);

	assert_string_equal(list.lines, "default.yaml:1:1: a template is a mapping of keys to values, not a list\n");
}

static void test_unknown_keys_are_warnings_when_lenient(void **state)
{
	struct cfg_input in = input_of(IMAGE "cpuz: 2\nssh: {port: 1}\n");

	(void)state;
	in.lenient = true;
	auto_loaded l = read_input(&in);

	assert_true(l.ok);
	assert_string_equal(l.lines, "warning: t.yaml:2:1: cpuz: unknown key; did you mean cpus?\n"
				     "warning: t.yaml:3:7: ssh.port: unknown key\n");
}

static void test_parameters_of_other_layers_need_no_use(void **state)
{
	auto_loaded l = load_layers("param: {a: x}\n", IMAGE, "param: {b: y}\n");

	(void)state;
	assert_true(l.ok);
	assert_int_equal(l.cfg.params, 2);
}

static void test_merge_keys_are_carried_out(void **state)
{
	auto_loaded l = load_ok(IMAGE "portForwards:\n- &r {guestPort: 1, proto: tcp}\n- {<<: *r, guestPort: 2}\n");

	(void)state;
	assert_string_equal(l.cfg.forward[1].proto, "tcp");
	assert_int_equal(l.cfg.forward[1].guest_port, 2);
}

static void test_deprecated_keys_fill_what_is_not_given(void **state)
{
	auto_loaded l = load_ok(IMAGE "cpuType: {x86_64: max, aarch64: cortex-a72}\n"
				      "vmOpts: {qemu: {cpuType: {x86_64: qemu64}}}\n"
				      "rosetta: {enabled: true}\n");

	(void)state;
	assert_string_equal(l.cfg.cpu_type, "qemu64");
	assert_int_equal(l.cfg.cpu_models, 2);
	assert_int_equal(l.cfg.vz.rosetta, CFG_TRUE);
	assert_finding(IMAGE "cpuType: max\n", "vmOpts.qemu.cpuType: must be a mapping, not text");
	assert_finding(IMAGE "cpuType: max\nvmOpts: {qemu: {cpuType: {x86_64: x}}}\n",
		       "cpuType: is deprecated and cannot be moved to vmOpts.qemu.cpuType");
}

static void assert_place(const struct ynode *n, const char *file, unsigned line)
{
	assert_non_null(n);
	assert_int_equal(n->line, line);
	if (file)
		assert_string_equal(n->source->name, file);
	else
		assert_null(n->source);
}

static void test_the_tree_knows_where_values_were_given(void **state)
{
	auto_pool p = yn_pool_new();
	auto_loaded l = load_layers("env: {A: x}\n", IMAGE "cpus: 2\nportForwards:\n- guestPort: 80\n",
				    "memory: 2GiB\n");
	const struct ynode *t = cfg_tree(&l.cfg, p), *forward;

	(void)state;
	assert_true(l.ok);
	assert_place(yn_get(t, "cpus"), "t.yaml", 2);
	assert_place(yn_get(t, "memory"), "override.yaml", 1);
	assert_place(yn_get(t, "disk"), NULL, 0);
	assert_place(yn_get(yn_get(t, "env"), "A"), "default.yaml", 1);
	forward = yn_get(t, "portForwards")->item[0];
	assert_place(yn_get(forward, "guestPort"), "t.yaml", 4);
	assert_place(yn_get(forward, "hostPortRange"), NULL, 0);
}

static void test_what_plain_takes_away_leaves_the_places_of_the_rest(void **state)
{
	auto_pool p = yn_pool_new();
	auto_loaded l = load_ok(IMAGE "plain: true\nportForwards:\n- guestPort: 1\n- guestPort: 2\n  static: true\n"
				      "- guestPort: 3\n- guestPort: 4\n  static: true\n");
	const struct ynode *rules = yn_get(cfg_tree(&l.cfg, p), "portForwards");

	(void)state;
	assert_int_equal(rules->count, 2);
	assert_place(yn_get(rules->item[0], "guestPort"), "t.yaml", 5);
	assert_place(yn_get(rules->item[1], "guestPort"), "t.yaml", 8);
}

static void test_places_of_paths(void **state)
{
	auto_loaded l = load_ok("images:\n- location: /a\nhostResolver:\n  hosts:\n    a: x\n    a.b: y\n"
				"user: {name: null}\n");
	static const struct {
		const char *path;
		unsigned line;
		bool given;
	} rows[] = {
		{ "images[0].location", 2, true }, { "images[0].digest", 2, false }, { "images[1]", 2, false },
		{ "hostResolver.hosts.a", 5, true }, { "hostResolver.hosts.a.b", 6, true }, { "user.name", 7, false },
		{ "cpus", 0, false }, { "user.name.x", 7, false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct place at = where_place(&l.cfg, "t.yaml", rows[i].path);

		assert_string_equal(at.file, "t.yaml");
		if (at.line != rows[i].line || where_given(&l.cfg, rows[i].path) != rows[i].given)
			fail_msg("%s: line %u", rows[i].path, at.line);
	}
}

static void test_network_addresses_are_the_same_for_the_same_instance(void **state)
{
	struct cfg_input in = input_of(IMAGE "networks: [{lima: a}, {lima: b}]\n");

	(void)state;
	auto_loaded one = read_input(&in), again = read_input(&in);

	/* sha256("0123456789abcdef0123456789abcdef/home/jane/.lima/box/lima.yaml#0") */
	assert_string_equal(one.cfg.network[0].mac_address, "52:55:55:89:7e:7e");
	assert_string_equal(one.cfg.network[0].mac_address, again.cfg.network[0].mac_address);
	assert_string_not_equal(one.cfg.network[0].mac_address, one.cfg.network[1].mac_address);
	in.dir = "/home/jane/.lima/other";
	auto_loaded other = read_input(&in);

	assert_string_not_equal(one.cfg.network[0].mac_address, other.cfg.network[0].mac_address);
}

static void test_folders_of_the_host(void **state)
{
	static const struct {
		const char *location, *have;
	} rows[] = {
		{ "'~'", "/home/jane" },         { "'~/a/../b/'", "/home/jane/b" }, { "/a//./b/../c/", "/a/c" },
		{ "/a/../../..", "/" },        { "/..a/b.", "/..a/b." },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		char text[200];

		snprintf(text, sizeof(text), IMAGE "mounts: [{location: %s, mountPoint: /mnt/x}]\n", rows[i].location);
		auto_loaded l = load_ok(text);

		assert_string_equal(l.cfg.mount[0].location, rows[i].have);
	}
}

/* A template with a base is read as the tree it became, so that each finding names the file to mend. */
static void test_a_tree_in_place_of_the_text_keeps_its_places(void **state)
{
	static const char own[] = IMAGE "cpus: x\n", base[] = "# a base\nmemory: y\nssh: {localPrt: 1}\n";
	auto_pool p = yn_pool_new();
	struct err e;
	struct ynode *tree = yn_copy(p, yn_parse_one(p, "t.yaml", own, strlen(own), &e));
	struct cfg_input in = input_of("not: read\n");

	(void)state;
	merge_base(p, tree, yn_parse_one(p, "base.yaml", base, strlen(base), &e));
	in.tree = tree;
	auto_loaded l = read_input(&in);

	assert_false(l.ok);
	assert_non_null(strstr(l.lines, "t.yaml:2:7: cpus: "));
	assert_non_null(strstr(l.lines, "base.yaml:2:9: memory: "));
	assert_non_null(strstr(l.lines, "base.yaml:3:7: ssh.localPrt: unknown key"));
	assert_null(strstr(l.lines, "not: "));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_override_wins_over_instance_wins_over_default),
		cmocka_unit_test(test_each_finding_names_its_own_file),
		cmocka_unit_test(test_elements_of_joined_lists_keep_their_places),
		cmocka_unit_test(test_a_layer_that_is_no_yaml_is_named),
		cmocka_unit_test(test_unknown_keys_are_warnings_when_lenient),
		cmocka_unit_test(test_parameters_of_other_layers_need_no_use),
		cmocka_unit_test(test_merge_keys_are_carried_out),
		cmocka_unit_test(test_deprecated_keys_fill_what_is_not_given),
		cmocka_unit_test(test_the_tree_knows_where_values_were_given),
		cmocka_unit_test(test_what_plain_takes_away_leaves_the_places_of_the_rest),
		cmocka_unit_test(test_places_of_paths),
		cmocka_unit_test(test_network_addresses_are_the_same_for_the_same_instance),
		cmocka_unit_test(test_folders_of_the_host),
		cmocka_unit_test(test_a_tree_in_place_of_the_text_keeps_its_places),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
