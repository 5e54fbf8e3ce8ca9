/* What this version does not carry out: each is said with its place, what is only a default is not. */
#include "tests/unit/cfg_util.h"

#include "limactl-c/plan/plan.h"

#define BOOT "images: [{location: /a, arch: x86_64, kernel: {location: k}, initrd: {location: i}}]\n"
#define YET "is not carried out by this version yet: "

static bool supported(const struct cfg *c, struct buf *lines)
{
	struct findings f = { 0 };
	bool yes = plan_supported(c, "t.yaml", &f);

	for (size_t i = 0; i < f.count; i++) {
		auto_free char *line = finding_line(&f.item[i]);

		buf_addf(lines, "%s%s\n", f.item[i].warning ? "warning: " : "", line);
	}
	findings_fini(&f);
	return yes;
}

static const struct {
	const char *text, *says;
} refused[] = {
	{ "networks: [{lima: user-v2}]", "networks: " YET },
	{ "nestedVirtualization: true", "nestedVirtualization: " YET },
	{ "tpm: true", "tpm: " YET },
	{ "containerd: {system: true}",
	  "t.yaml:2:22: containerd.system: nothing is installed by itself: give `containerd.archives` with location and digest of "
	  "a nerdctl-full archive for x86_64, or write containerd: {system: false, user: false} (--containerd none)" },
	{ "containerd: {user: true}", "t.yaml:2:20: containerd.user: nothing is installed by itself: give" },
	{ "containerd: {user: true, archives: [{location: /a, arch: aarch64}]}", "archive for x86_64" },
	{ "containerd: {user: true, archives: [{location: /a}]}\nuser: {name: root}",
	  "containerd.user: is for a user other than root: give user.name, or use containerd.system" },
	{ "containerd: {user: true, archives: [{location: /a}]}\nguest: {init: lean}",
	  "containerd.user: needs a guest with systemd, which one that starts by our initramfs has not: write user: false" },
	{ "containerd: {system: true, archives: [{location: /a}]}\nguest: {engineDisk: /e}",
	  "containerd.system: guest.engineDisk brings a containerd already, which Docker uses: remove one of the two" },
	{ "audio: {device: alsa}", "audio.device: " YET },
	{ "video: {display: vnc}", "t.yaml:2:18: video.display: " YET "write video: {display: none}" },
	{ "provision: [{mode: ansible, playbook: /a}]", "provision[0].mode: ansible is not carried out: run" },
	{ "provision: [{mode: yq, path: /a, expression: ., format: toml}]",
	  "provision[0].format: only YAML and JSON files can be edited, /a is neither" },
	{ "provision: [{mode: yq, path: /a.ini, expression: .}]",
	  "t.yaml:2:30: provision[0].path: only YAML and JSON files can be edited, /a.ini is neither" },
	{ "portForwards: [{guestPort: 1, hostSocket: b, proto: udp}]",
	  "portForwards[0].proto: a socket carries no datagrams: write tcp, or no proto" },
	{ "os: FreeBSD", "t.yaml:2:5: os: only Linux guests are possible in this version" },
	{ "arch: s390x", "t.yaml:1:9: images: there is none for architecture s390x" },
};

static void test_what_would_be_missed_is_refused(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(refused) / sizeof(*refused); i++) {
		auto_buf lines = BUF_INIT(1 << 16);
		auto_free char *text = NULL;

		assert_true(asprintf(&text, BOOT "%s\n", refused[i].text) > 0);
		auto_loaded l = load_ok(text);

		if (supported(&l.cfg, &lines) || !strstr(lines.data, refused[i].says))
			fail_msg("%sis not refused with \"%s\" but\n%s", text, refused[i].says,
				 lines.data ? lines.data : "");
	}
}

static const struct {
	const char *text, *says;
} warned[] = {
	{ "guestInstallPrefix: /opt", "guestInstallPrefix: " YET },
	{ "vmOpts: {qemu: {minimumVersion: 8.0.0}}", "vmOpts.qemu.minimumVersion: " YET },
	{ "mounts: [{location: /proc, writable: true}, {location: /sys}]\nmountInotify: true",
	  "mounts[1].location: mountInotify cannot wake those who watch files in a read-only folder: write writable: true" },
};

static void test_what_is_done_otherwise_is_warned_of(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(warned) / sizeof(*warned); i++) {
		auto_buf lines = BUF_INIT(1 << 16);
		auto_free char *text = NULL;

		assert_true(asprintf(&text, BOOT "%s\n", warned[i].text) > 0);
		auto_loaded l = load_ok(text);

		if (!supported(&l.cfg, &lines) || !lines.data || !strstr(lines.data, warned[i].says))
			fail_msg("%sis not warned of with \"%s\" but\n%s", text, warned[i].says,
				 lines.data ? lines.data : "");
	}
}

static void test_bios_where_there_is_none(void **state)
{
	static const char text[] = "arch: aarch64\nimages: [{location: /a, arch: aarch64}]\nfirmware: {legacyBIOS: true}\n";
	auto_buf lines = BUF_INIT(1 << 16);
	auto_loaded l = load_ok(text);

	(void)state;
	assert_true(supported(&l.cfg, &lines));
	assert_string_equal(lines.data, "warning: t.yaml:3:24: firmware.legacyBIOS: only x86_64 machines have a BIOS: UEFI is "
					"used\n");
}

static void test_the_server_of_sshfs_is_ours(void **state)
{
	static const char text[] = "images: [{location: /a}]\nmountType: reverse-sshfs\n"
				   "mounts: [{location: /proc, sshfs: {sftpDriver: openssh-sftp-server}}, {location: /sys, "
				   "sshfs: {sftpDriver: builtin}}]\n";
	auto_buf lines = BUF_INIT(1 << 16);
	auto_loaded l = load_ok(text);

	(void)state;
	assert_true(supported(&l.cfg, &lines));
	assert_string_equal(lines.data, "warning: t.yaml:3:48: mounts[0].sshfs.sftpDriver: a server of ours is used, which a guest cannot "
					"lead out of the folder\n");
}

static void test_defaults_and_what_asks_for_nothing_are_silent(void **state)
{
	static const char *const texts[] = {
		"",
		"mounts: []\nadditionalDisks: []\nnetworks: []\nprobes: []\ncopyToHost: []\ndns: []\n",
		"containerd: {system: false, user: false}",
		"containerd: {archives: [{location: /a}]}",
		"containerd: {system: true, user: true, archives: [{location: /b, arch: riscv64}, {location: /a}]}",
		"containerd: {system: true, archives: [{location: /a}]}\nguest: {init: lean}",
		"containerd: {system: true, user: true}\nplain: true",
		"hostResolver: {enabled: false, ipv6: false, hosts: {}}",
		"hostResolver: {enabled: true, ipv6: true, hosts: {a.b: c, c: d}}",
		"caCerts: {removeDefaults: false, files: [], certs: []}",
		"hostResolver: {hosts: {a: b, B: host.lima.internal, c: '::1', d: localhost}}",
		"caCerts: {removeDefaults: true, files: [/a], certs: [a]}\nupgradePackages: true",
		"dns: [1.1.1.1]\nhostResolver: {enabled: false}\npropagateProxyEnv: true\ntimezone: UTC",
		"video: {display: none}\naudio: {device: ''}",
		"timezone: ''\nguestInstallPrefix: /usr/local\nparam: {}",
		"mountType: 9p\nmountTypesUnsupported: [virtiofs]",
		"mounts: [{location: /proc}]",
		"mounts: [{location: /proc, writable: true}]\nmountInotify: true",
		"mountInotify: true",
		"mountType: reverse-sshfs",
		"mounts: [{location: /proc}]\nmountType: reverse-sshfs",
		"mounts: [{location: /proc}]\nmountTypesUnsupported: [9p]",
		"mounts: [{location: /proc}]\nmountType: virtiofs",
		"vmOpts: {vz: {rosetta: {enabled: true}}}",
		"param: {a: b}\nmessage: '{{.Param.a}}'",
		"provision: [{mode: boot, script: a}, {mode: user, script: a}, {mode: dependency, script: a}]",
		"provision: [{mode: data, path: /a.ini, content: b}, {mode: yq, path: /a.conf, expression: .},"
		"{mode: yq, path: /a.ini, expression: ., format: yaml}, {mode: yq, path: /a.json, expression: .}]",
		"probes: [{script: '#!/bin/sh'}]\ncopyToHost: [{guest: /a, host: /b}]",
		"provision: [{mode: boot, script: a}]\nportForwards: [{guestSocket: /a, hostSocket: b}]",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		auto_buf lines = BUF_INIT(1 << 16);
		auto_free char *text = NULL;

		assert_true(asprintf(&text, BOOT "%s\n", texts[i]) > 0);
		auto_loaded l = load_ok(text);

		if (!supported(&l.cfg, &lines) || lines.len)
			fail_msg("%s%s", text, lines.data);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_would_be_missed_is_refused),
		cmocka_unit_test(test_what_is_done_otherwise_is_warned_of),
		cmocka_unit_test(test_bios_where_there_is_none),
		cmocka_unit_test(test_the_server_of_sshfs_is_ours),
		cmocka_unit_test(test_defaults_and_what_asks_for_nothing_are_silent),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
