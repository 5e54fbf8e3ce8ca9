/* YAML text → struct cfg: what is taken, and what is said about the rest. */
#include "tests/unit/cfg_util.h"

#include "tests/unit/cfg_dump.h"

#include <stdlib.h>

static const char everything[] =
	"minimumLimaVersion: 2.0.0\n"
	"vmType: qemu\n"
	"vmOpts: {qemu: {cpuType: {x86_64: max, aarch64: cortex-a72}}}\n"
	"os: Linux\n"
	"arch: x86_64\n"
	"images:\n"
	"- location: https://example.com/a.qcow2\n"
	"  arch: x86_64\n"
	"  digest: sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef\n"
	"  kernel: {location: k, cmdline: 'quiet x=\"y z\"'}\n"
	"  initrd: {location: i}\n"
	"- {location: /b.img, arch: aarch64}\n"
	"cpus: 3\n"
	"memory: 1.5GiB\n"
	"disk: 10GiB\n"
	"mounts: []\n"
	"provision:\n"
	"- {mode: boot, script: 'a'}\n"
	"- script: |\n    #!/bin/sh\n    b\n"
	"portForwards:\n"
	"- {guestPort: 80, hostPort: 8080, proto: tcp, hostIP: 0.0.0.0}\n"
	"- {guestIP: 0.0.0.0, guestIPMustBeZero: true, guestPortRange: [1, 100], hostPortRange: [1001, 1100], static: true}\n"
	"- {guestSocket: /run/docker.sock, hostSocket: docker.sock}\n"
	"- {guestPortRange: [200, 300], ignore: true}\n"
	"env: {A: text, B: 5, C: true, D: , E: 'a: b'}\n"
	"message: hello\n"
	"user: {name: joe, comment: Joe, home: /home/joe, shell: /bin/ash, uid: 1001, passwordlessSudo: false}\n"
	"ssh: {localPort: 60022, forwardAgent: false}\n"
	"plain: false\n"
	"containerd: {system: false, user: false}\n"
	"guest: {init: lean, directBoot: true, kernelArgs: [a=b, c], engineDisk: 'cache:e'}\n"
	"tuning:\n"
	"  initOnFree: true\n"
	"  tmpfsVarLog: true\n"
	"  syslogRing: 64KiB\n"
	"  commit: 60\n"
	"  cacheTrim: true\n"
	"  fstrim: [stop]\n"
	"  dockerLogs: {maxSize: 10MiB, maxFile: 3}\n"
	"  buildCache: 2GiB\n"
	"idle: {when: noConnections, pauseAfter: 1m, suspendAfter: 0}\n";

static void test_every_key_reaches_its_member(void **state)
{
	auto_loaded l = load_ok(everything);
	const struct cfg *c = &l.cfg;

	(void)state;
	assert_string_equal(c->minimum_lima_version, "2.0.0");
	assert_string_equal(c->vm_type, "qemu");
	assert_string_equal(c->cpu_type, "max");
	assert_int_equal(c->images, 2);
	assert_string_equal(c->image[0].location, "https://example.com/a.qcow2");
	assert_string_equal(c->image[0].kernel.location, "k");
	assert_string_equal(c->image[0].kernel.cmdline, "quiet x=\"y z\"");
	assert_string_equal(c->image[0].initrd.location, "i");
	assert_null(c->image[1].kernel.location);
	assert_string_equal(c->image[1].arch, "aarch64");
	assert_int_equal(c->cpus, 3);
	assert_true(c->memory == (uint64_t)3 << 29);
	assert_true(c->disk == (uint64_t)10 << 30);
	assert_int_equal(c->provisions, 2);
	assert_string_equal(c->provision[0].mode, "boot");
	assert_string_equal(c->provision[1].script, "#!/bin/sh\nb\n");
	assert_int_equal(c->forwards, 4);
	assert_int_equal(c->forward[0].guest_port, 80);
	assert_int_equal(c->forward[0].host_port, 8080);
	assert_string_equal(c->forward[0].proto, "tcp");
	assert_string_equal(c->forward[0].host_ip, "0.0.0.0");
	assert_true(c->forward[1].guest_ip_must_be_zero && c->forward[1].is_static);
	assert_int_equal(c->forward[1].guest_range[1], 100);
	assert_int_equal(c->forward[1].host_range[0], 1001);
	assert_string_equal(c->forward[2].guest_socket, "/run/docker.sock");
	assert_string_equal(c->forward[2].host_socket, "docker.sock");
	assert_true(c->forward[3].ignore);
	assert_int_equal(c->envs, 5);
	assert_string_equal(c->env[1].value, "5");
	assert_string_equal(c->env[2].value, "true");
	assert_string_equal(c->env[3].value, "");
	assert_string_equal(c->env[4].value, "a: b");
	assert_string_equal(c->message, "hello");
	assert_string_equal(c->user.name, "joe");
	assert_string_equal(c->user.shell, "/bin/ash");
	assert_int_equal(c->user.uid, 1001);
	assert_false(c->user.passwordless_sudo);
	assert_int_equal(c->ssh.local_port, 60022);
	assert_string_equal(c->guest.init, "lean");
	assert_true(c->guest.direct_boot);
	assert_int_equal(c->guest.kernel_args_count, 2);
	assert_string_equal(c->guest.kernel_args[1], "c");
	assert_string_equal(c->guest.engine_disk, "cache:e");
	assert_true(c->tuning.init_on_free && c->tuning.tmpfs_var_log && c->tuning.cache_trim);
	assert_int_equal(c->tuning.syslog_ring, 65536);
	assert_int_equal(c->tuning.commit, 60);
	assert_true(!c->tuning.fstrim_boot && c->tuning.fstrim_stop);
	assert_int_equal(c->tuning.docker_log_size, 10 << 20);
	assert_int_equal(c->tuning.docker_log_files, 3);
	assert_true(c->tuning.build_cache == (uint64_t)2 << 30);
	assert_string_equal(c->idle.when, "noConnections");
	assert_int_equal(c->idle.pause_after, 60);
	assert_int_equal(c->idle.suspend_after, 0);
}

/* However nothing is written. */
static void test_nothing_in_a_mapping_of_texts_is_the_empty_text(void **state)
{
	auto_loaded l = load_ok(IMAGE "env: {A: null, B: ~, C: Null, D: }\n"
				      "vmOpts: {qemu: {cpuType: {x86_64: null}}}\n");

	(void)state;
	assert_int_equal(l.cfg.envs, 4);
	for (size_t i = 0; i < l.cfg.envs; i++)
		assert_string_equal(l.cfg.env[i].value, "");
	assert_string_equal(l.cfg.cpu_model[0].value, "");
	assert_finding(IMAGE "hostResolver: {hosts: {a: null}}\n", "hostResolver.hosts.a: must be a name and its address");
}

/* parse → dump → parse → dump: the second dump is the first. */
static void test_dump_is_a_fixed_point(void **state)
{
	static const char *const texts[] = {
		everything,
		IMAGE,
		IMAGE
		"message: \"q\\\" b\\\\ n\\n t\\t u\\u00e9 e\\e del\\x7f \\U0001F600\"\nenv: {A: \"\"}\n",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		auto_loaded first = load_ok(texts[i]);
		auto_free char *dump = cfg_dump(&first.cfg);
		auto_loaded second = load_ok(dump);
		auto_free char *again = cfg_dump(&second.cfg);

		assert_string_equal(dump, again);
		assert_null(strchr(dump, '\n'));
	}
}

/* Case 2: a typing slip must not hide the real mistake. */
static void test_one_run_reports_every_finding(void **state)
{
	(void)state;
	assert_findings(
		"images: [{location: \"/srv/test/alpine.img\"}]\n"
		"memroy: \"1GiB\"\n"
		"vmOpts: {qemu: {cpuTyp: \"host\"}}\n"
		"vmType: qemuu\n"
		"cpus: 2\n"
		"cpus: 4\n"
		"ssh: {localPort: 22}\n",
		"t.yaml:2:1: memroy: unknown key; did you mean memory?\n"
		"t.yaml:3:17: vmOpts.qemu.cpuTyp: unknown key; did you mean cpuType?\n"
		"t.yaml:4:9: vmType: must be one of [qemu vz wsl2 krunkit fake default]; got \"qemuu\"; did you mean qemu?\n"
		"t.yaml:6:1: key `cpus` is given twice, first on line 5\n"
		"t.yaml:7:18: ssh.localPort: must not be 22, the host's own ssh\n");
}

static void test_unknown_keys_name_their_path_and_the_nearest_known(void **state)
{
	static const struct {
		const char *text, *says;
	} rows[] = {
		{ "nonsense: 1\n", ":2:1: nonsense: unknown key\n" },
		{ "CPUS: 1\n", "CPUS: unknown key; did you mean cpus?" },
		{ "portForward: []\n", "did you mean portForwards?" },
		{ "portForwards: [{guestport: 1}]\n",
		  "portForwards[0].guestport: unknown key; did you mean guestPort?" },
		{ "provision: [{script: x}, {scirpt: x}]\n",
		  "provision[1].scirpt: unknown key; did you mean script?" },
		{ "tuning: {dockerLogs: {maxsize: 1}}\n",
		  "tuning.dockerLogs.maxsize: unknown key; did you mean maxSize?" },
		{ "user.name: x\n", "user.name: unknown key" },
		{ "'images[]': x\n", "images[]: unknown key" },
		{ "\"a\\nb\": x\n", "a?b: unknown key" },
		{ "'': x\n", ": unknown key" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		auto_free char *text = NULL;

		assert_true(asprintf(&text, IMAGE "%s", rows[i].text) > 0);
		assert_finding(text, rows[i].says);
	}
}

static const struct {
	const char *text, *says;
} wrong_kinds[] = {
	{ "cpus: four\n", ":2:7: cpus: must be a whole number, not text" },
	{ "cpus: '4'\n", "cpus: must be a whole number, not text" },
	{ "cpus: 1.5\n", "cpus: must be a whole number, not a number" },
	{ "cpus: [1]\n", "cpus: must be a whole number, not a list" },
	{ "cpus: 0\n", "cpus: must be a whole number from 1 to 512; got 0" },
	{ "cpus: -1\n", "cpus: must be a whole number from 1 to 512; got -1" },
	{ "cpus: 99999999999999999999999\n", "cpus: must be a whole number from 1 to 512" },
	{ "memory: 64MiB\n", "memory: must be a size from 128MiB to 16TiB; got 64MiB" },
	{ "memory: 4\n", "memory: must be a size from 128MiB to 16TiB; got 4" },
	{ "memory: 4Gibs\n", "memory: \"4Gibs\" is not a size" },
	{ "memory: true\n", "memory: must be a size, not true or false" },
	{ "disk: 0\n", "disk: must be a size from 16MiB to 16TiB; got 0" },
	{ "plain: yes\n", "plain: must be true or false, not text" },
	{ "plain: 1\n", "plain: must be true or false, not a whole number" },
	{ "message: [a]\n", "message: must be text, not a list" },
	{ "message: {a: b}\n", "message: must be text, not a mapping" },
	{ "message: \"a\\0b\"\n", "message: holds a NUL character" },
	{ "user: joe\n", "user: must be a mapping, not text" },
	{ "provision: x\n", "provision: must be a list, not text" },
	{ "provision: [x]\n", "provision[0]: must be a mapping, not text" },
	{ "provision: [null]\n", "provision[0]: must be a mapping, not nothing" },
	{ "provision: [{mode: users, script: x}]\n",
	  "provision[0].mode: must be one of [system user boot dependency data yq ansible]; got \"users\"; did you mean user?" },
	{ "arch: amd64\n",
	  "arch: must be one of [x86_64 aarch64 armv7l ppc64le riscv64 s390x default]; got \"amd64\"" },
	{ "env: [A]\n", "env: must be a mapping, not a list" },
	{ "env: {A: [1]}\n", "env.A: must be text, not a list" },
	{ "env: {A: \"a\\0\"}\n", "env.A: holds a NUL character" },
	{ "guest: {kernelArgs: x}\n", "guest.kernelArgs: must be a list, not text" },
	{ "guest: {kernelArgs: [[x]]}\n", "guest.kernelArgs[0]: must be text, not a list" },
	{ "tuning: {fstrim: [boot, never]}\n",
	  "tuning.fstrim[1]: must be one of [boot stop]; got \"never\"" },
	{ "tuning: {fstrim: boot}\n", "tuning.fstrim: must be a list, not text" },
	{ "tuning: {cacheTrim: {}}\n",
	  "tuning.cacheTrim: must be true or false, not a mapping" },
	{ "idle: {pauseAfter: 10}\n",
	  "idle.pauseAfter: \"10\" is not a duration" },
	{ "idle: {when: always}\n",
	  "idle.when: must be one of [noContainers noConnections never]" },
	{ "portForwards: [{guestPort: 65536}]\n",
	  "portForwards[0].guestPort: must be a whole number from 0 to 65535" },
	{ "portForwards: [{guestPortRange: 5}]\n",
	  "portForwards[0].guestPortRange: must be a list, not a whole number" },
	{ "portForwards: [{guestPortRange: [1]}]\n",
	  "must have two ports, the first and the last" },
	{ "portForwards: [{guestPortRange: [1, x]}]\n",
	  "portForwards[0].guestPortRange[1]: must be a port number, not text" },
	{ "portForwards: [{hostPortRange: [1, 70000]}]\n",
	  "portForwards[0].hostPortRange[1]: must be a whole number from 0" },
};

static void test_values_of_the_wrong_kind_are_named(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(wrong_kinds) / sizeof(*wrong_kinds); i++) {
		auto_free char *text = NULL;

		assert_true(asprintf(&text, IMAGE "%s", wrong_kinds[i].text) > 0);
		assert_finding(text, wrong_kinds[i].says);
	}
}

/* Case 4: a script is carried byte for byte. */
static void test_scripts_keep_every_byte(void **state)
{
	static const char body[] = "cat > /tmp/o.yaml <<'EOT'\n"
				   "top:\n"
				   "  sub:\n"
				   "    - \"x: {{ not a template }}\"\n"
				   "  tab:\tend\n"
				   "  price: $5 `date` \\n \"q\" 'p' #c\n"
				   "EOT\n";
	char text[1000] = IMAGE "provision:\n- mode: boot\n  script: |\n";
	const char *line = body;

	(void)state;
	while (*line) {
		size_t n = strcspn(line, "\n") + 1, at = strlen(text);

		snprintf(text + at, sizeof(text) - at, "    %.*s", (int)n, line);
		line += n;
	}
	{
		auto_loaded l = load_ok(text);

		assert_string_equal(l.cfg.provision[0].script, body);
	}
	{
		auto_loaded l = load_ok(IMAGE "provision: [{script: \" \"}, {script: \"no end\"}]\n");

		assert_string_equal(l.cfg.provision[0].script, " ");
		assert_string_equal(l.cfg.provision[1].script, "no end");
	}
}

static void test_a_long_script_arrives_whole(void **state)
{
	enum { LINES = 3200, WIDTH = 64 };
	auto_buf text = BUF_INIT(1 << 20);
	auto_buf body = BUF_INIT(1 << 20);

	(void)state;
	buf_adds(&text, IMAGE "provision:\n- script: |\n");
	for (int i = 0; i < LINES; i++) {
		buf_addf(&body, "%0*d\n", WIDTH - 1, i);
		buf_addf(&text, "    %0*d\n", WIDTH - 1, i);
	}
	assert_int_equal(body.len, 200 << 10);
	auto_loaded l = load_ok(text.data);

	assert_string_equal(l.cfg.provision[0].script, body.data);
}

static void test_findings_are_bounded(void **state)
{
	auto_buf text = BUF_INIT(1 << 20);

	(void)state;
	buf_adds(&text, IMAGE);
	for (int i = 0; i < 150; i++)
		buf_addf(&text, "unknown%d: 1\n", i);
	auto_loaded l = load(text.data, &cfg_test_host);

	assert_int_equal(l.f.errors, 150);
	assert_int_equal(l.f.count, FINDINGS_MAX);
	assert_int_equal(l.f.dropped, 50);
}

static void test_lists_are_bounded(void **state)
{
	auto_buf text = BUF_INIT(1 << 20);

	(void)state;
	buf_adds(&text, IMAGE "portForwards:\n- &r {guestPort: 1}\n");
	for (int i = 0; i < 1000; i++)
		buf_adds(&text, "- *r\n");
	assert_finding(text.data, "portForwards: has more than 1000 entries");
}

static void test_a_template_is_a_mapping(void **state)
{
	(void)state;
	assert_findings("[1]", "t.yaml:1:1: a template is a mapping of keys to values, not a list\n");
	assert_findings("", "t.yaml: images: must be set\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_key_reaches_its_member),
		cmocka_unit_test(test_nothing_in_a_mapping_of_texts_is_the_empty_text),
		cmocka_unit_test(test_dump_is_a_fixed_point),
		cmocka_unit_test(test_one_run_reports_every_finding),
		cmocka_unit_test(test_unknown_keys_name_their_path_and_the_nearest_known),
		cmocka_unit_test(test_values_of_the_wrong_kind_are_named),
		cmocka_unit_test(test_scripts_keep_every_byte),
		cmocka_unit_test(test_a_long_script_arrives_whole),
		cmocka_unit_test(test_findings_are_bounded),
		cmocka_unit_test(test_lists_are_bounded),
		cmocka_unit_test(test_a_template_is_a_mapping),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
