/* Rules across fields: each is broken once and named with its place; what looks alike but is right
 * passes. */
#include "tests/unit/cfg_util.h"

#define HEX32 "0123456789abcdef0123456789abcdef"

static const struct {
	const char *text, *says;
} broken_rules[] = {
	{ "cpus: 2\n", "t.yaml: images: must be set\n" },
	{ "images: []\n", "t.yaml:1:9: images: must be set\n" },
	{ "images: [{arch: x86_64}]\n", "t.yaml:1:10: images[0].location: must be set\n" },
	{ "images: [{location: /a, digest: sha256:12}]\n",
	  ":1:33: images[0].digest: is invalid: \"sha256:12\"" },
	{ "images: [{location: /a, digest: 'md5:" HEX32 "'}]\n",
	  "images[0].digest: is invalid" },
	{ "images: [{location: /a, digest: 'sha256:" HEX32 HEX32 "0'}]\n", "is invalid" },
	{ "images: [{location: /a, digest: 'sha256:" HEX32 HEX32 " '}]\n", "is invalid" },
	{ "images: [{location: /a, digest: 'sha256:" HEX32 "0123456789ABCDEF0123456789abcdef'}]\n",
	  "is invalid" },
	{ "images: [{location: /a, kernel: {location: k, digest: x}}]\n",
	  "images[0].kernel.digest: is invalid" },
	{ "images: [{location: /a, kernel: {cmdline: quiet}}]\n",
	  "images[0].kernel.location: must be set" },
	{ "images: [{location: /a, initrd: {digest: x}}]\n",
	  "images[0].initrd.location: must be set" },
	{ "images: [{location: /a, kernel: {location: k, arch: aarch64}}]\n",
	  "images[0].kernel.arch: has unexpected architecture \"aarch64\", must be \"x86_64\"" },
	{ IMAGE "guest: {init: lean}\n",
	  ":2:15: guest.init: can be lean only with direct boot" },
	{ IMAGE "guest: {kernelArgs: ['a b']}\n", "guest.kernelArgs[0]: must be one word" },
	{ IMAGE "guest: {kernelArgs: [a, '']}\n",
	  ":2:25: guest.kernelArgs[1]: must be one word" },
	{ IMAGE "minimumLimaVersion: 99.0.0\n",
	  "minimumLimaVersion: asks for Lima version `99.0.0`; this follows only `2.2.0`" },
	{ IMAGE "minimumLimaVersion: 2.2.1\n", "asks for Lima version `2.2.1`" },
	{ IMAGE "minimumLimaVersion: new\n", "must be a semantic version" },
	{ IMAGE "provision: [{mode: boot}]\n", "provision[0].script: must be set" },
	{ IMAGE "user: {name: Jane}\n", ":2:14: user.name: must be lower-case" },
	{ IMAGE "user: {name: ''}\n", "user.name: must be" },
	{ IMAGE "user: {name: a23456789012345678901234567890123}\n", "at most 32" },
	{ IMAGE "user: {uid: 0}\n", "user.uid: must be 0 for root and for nobody else" },
	{ IMAGE "user: {name: root, uid: 5}\n", "user.uid: must be 0 for root" },
	{ IMAGE "user: {shell: bash}\n",
	  "user.shell: must be an absolute path; got \"bash\"" },
	{ IMAGE "user: {home: 'home/x'}\n", "user.home: must be an absolute path" },
	{ IMAGE "user: {home: '/home/x:y'}\n", "user.home: must not hold colons" },
	{ IMAGE "user: {comment: \"a\\nroot::0:0\"}\n",
	  "user.comment: must not hold colons, line ends" },
	{ IMAGE "env: {1A: x}\n", "env.1A: is no name of a variable" },
	{ IMAGE "env: {'A B': x}\n", ":2:7: env.A B: is no name of a variable" },
	{ IMAGE "env: {'': x}\n", "is no name of a variable" },
	{ IMAGE "ssh: {localPort: 22}\n", "ssh.localPort: must not be 22" },
	{ IMAGE "vmOpts: {qemu: {cpuType: {amd64: x}}}\n",
	  "vmOpts.qemu.cpuType.amd64: is no architecture" },
	{ IMAGE "idle: {pauseAfter: 1h, suspendAfter: 1m}\n",
	  "idle.suspendAfter: must not be less than `idle.pauseAfter`" },
};

static void test_broken_rules_are_named_with_their_place(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(broken_rules) / sizeof(*broken_rules); i++)
		assert_finding(broken_rules[i].text, broken_rules[i].says);
}

static const struct {
	const char *text, *says;
} broken_lima_rules[] = {
	{ IMAGE "base: template:x\n", ":2:7: base: is carried out when an instance is created, not later" },
	{ IMAGE "os: Windows\nvmType: vz\nuser: {shell: cmd.exe}\n",
	  ":2:5: os: can be Windows only with vmType qemu; it is vz" },
	{ IMAGE "os: Windows\narch: s390x\n", "os: can be Windows only with arch x86_64 or aarch64; it is s390x" },
	{ IMAGE "os: Windows\nuser: {shell: /bin/sh}\n",
	  "user.shell: must be one of [cmd.exe powershell.exe pwsh.exe]" },
	{ IMAGE "os: Darwin\nuser: {passwordlessSudo: true}\n",
	  "user.passwordlessSudo: must be false for a macOS guest" },
	{ IMAGE "vmType: wsl2\nuser: {passwordlessSudo: false}\n",
	  "user.passwordlessSudo: must be true with vmType wsl2" },
	{ IMAGE "tpm: true\narch: s390x\n", ":2:6: tpm: is not possible on s390x" },
	{ IMAGE "user: {shell: '/bin/a:b'}\n", "user.shell: must not hold colons" },
	{ IMAGE "vmType: vz\nmountType: 9p\n", ":3:12: mountType: cannot be 9p with vmType vz" },
	{ IMAGE "mountType: wsl2\n", "mountType: cannot be wsl2 with vmType qemu" },
	{ IMAGE "mountType: 9p\nmountTypesUnsupported: [9p]\n", ":2:12: mountType: must not be 9p, which is in" },
	{ IMAGE "dns: [1.1.1.1]\n", ":2:6: dns: must be empty while `hostResolver.enabled` is true" },
	{ IMAGE "hostResolver: {hosts: {a: ''}}\n", ":2:24: hostResolver.hosts.a: must be a name and its address" },
	{ IMAGE "hostResolver: {hosts: {a.b: ''}}\n", ":2:24: hostResolver.hosts.a.b: must be" },
	{ IMAGE "mounts: [{location: x}]\n",
	  ":2:21: mounts[0].location: must be an absolute path, or ~ for your home; got \"x\"" },
	{ IMAGE "mounts: [{location: ~joe}]\n", "mounts[0].location: must be an absolute path, or ~" },
	{ IMAGE "mounts: [{location: /etc/passwd}]\n", "mounts[0].location: must be a folder; /etc/passwd is none" },
	{ IMAGE "mounts: [{location: /etc/passwd/x}]\n",
	  "mounts[0].location: cannot be read: /etc/passwd/x: Not a directory" },
	{ IMAGE "mounts: [{location: /proc, mountPoint: /usr}]\n",
	  ":2:40: mounts[0].mountPoint: must not be /usr, which belongs" },
	{ IMAGE "mounts: [{location: /}]\n", "mounts[0].mountPoint: must not be /," },
	{ IMAGE "mounts: [{location: /proc, mountPoint: //usr//}]\n", "mounts[0].mountPoint: must not be //usr//, which belongs" },
	{ IMAGE "mounts: [{location: /proc, mountPoint: /home/jane.guest/}]\n", "mounts[0].mountPoint: must not be /home/jane" },
	{ IMAGE "mounts: [{location: /proc, mountPoint: /x/../usr}]\n", "mounts[0].mountPoint: must not have .. in it" },
	{ IMAGE "provision: [{script: x, file: y}]\n", "provision[0].file: stands beside a text that was written out" },
	{ IMAGE "mounts: [{location: /proc, mountPoint: ~/x}]\n",
	  "mounts[0].mountPoint: must be an absolute path in the guest, without ~" },
	{ IMAGE "mounts: [{location: /proc, mountPoint: /home/jane.guest}]\n",
	  "mounts[0].mountPoint: must not be /home/jane.guest, the home" },
	{ IMAGE "mounts: [{location: /proc, mountPoint: /m, virtiofs: {queueSize: 1000}}]\n",
	  ":2:66: mounts[0].virtiofs.queueSize: must be a power of two, such as 512 or 1024; got 1000" },
	{ IMAGE "mounts: [{mountPoint: x}]\n", ":2:10: mounts[0].location: must be set\n" },
	{ IMAGE "mounts: [{mountPoint: x}]\n", ":2:23: mounts[0].mountPoint: must be an absolute path in the guest" },
	{ IMAGE "mounts: [{mountPoint: /home/jane.guest}]\n", "mounts[0].mountPoint: must not be /home/jane.guest" },
	{ IMAGE "provision: [{mode: user}]\n", "provision[0].script: must be set with mode user" },
	{ IMAGE "provision: [{script: ''}]\n", ":2:22: provision[0].script: must not be empty" },
	{ IMAGE "provision: [{script: a, content: b}]\n",
	  ":2:34: provision[0].content: goes with mode data; the mode is system" },
	{ IMAGE "provision: [{script: a, overwrite: false}]\n", "provision[0].overwrite: goes with mode data;" },
	{ IMAGE "provision: [{script: a, owner: b}]\n", "provision[0].owner: goes with mode data or yq;" },
	{ IMAGE "provision: [{script: a, path: /b}]\n", "provision[0].path: goes with mode data or yq;" },
	{ IMAGE "provision: [{script: a, permissions: 644}]\n",
	  "provision[0].permissions: goes with mode data or yq;" },
	{ IMAGE "provision: [{script: a, expression: .x}]\n", "provision[0].expression: goes with mode yq;" },
	{ IMAGE "provision: [{script: a, format: json}]\n", "provision[0].format: goes with mode yq;" },
	{ IMAGE "provision: [{script: a, playbook: p}]\n", "provision[0].playbook: goes with mode ansible;" },
	{ IMAGE "provision: [{script: a, skipDefaultDependencyResolution: true}]\n",
	  "provision[0].skipDefaultDependencyResolution: goes with mode dependency; the mode is system" },
	{ IMAGE "provision: [{mode: ansible, playbook: p, script: a}]\n",
	  "provision[0].script: goes with mode system, user" },
	{ IMAGE "provision: [{mode: data, content: x}]\n", "provision[0].path: must be set with mode data" },
	{ IMAGE "provision: [{mode: data, path: /x}]\n", "provision[0].content: must be set with mode data" },
	{ IMAGE "provision: [{mode: yq, path: /x}]\n", "provision[0].expression: must be set with mode yq" },
	{ IMAGE "provision: [{mode: data, path: x, content: y}]\n",
	  ":2:32: provision[0].path: must be an absolute path; got \"x\"" },
	{ IMAGE "provision: [{file: x.sh}]\n", "provision[0].file: is read when an instance is created, not later" },
	{ IMAGE "provision: [{mode: boot, script: a}]\nos: Windows\n",
	  "provision[0].mode: cannot be boot in a Windows guest" },
	{ IMAGE "probes: [{description: x}]\n", "probes[0].script: must be set" },
	{ IMAGE "probes: [{file: x.sh}]\n", "probes[0].file: is read when an instance is created" },
	{ IMAGE "networks: [{metric: 1}]\n",
	  ":2:12: networks[0]: must have one of `lima`, `socket` and `vzNAT: true`\n" },
	{ IMAGE "networks: [{lima: a, vzNAT: true}]\n",
	  "networks[0]: must have one of `lima`, `socket` and `vzNAT: true`, not several" },
	{ IMAGE "networks: [{socket: /etc/passwd}]\n", "networks[0].socket: must be a socket; /etc/passwd is none" },
	{ IMAGE "networks: [{lima: a}, {lima: b, interface: lima0}]\n",
	  ":2:44: networks[1].interface: lima0 is the interface of `networks[0]` already" },
	{ IMAGE "networks: [{lima: a, interface: a-name-too-long1}]\n",
	  "networks[0].interface: must have at most 15 bytes; it has 16" },
	{ IMAGE "networks: [{lima: a, interface: 'a b'}]\n",
	  "networks[0].interface: must not be empty or hold spaces or slashes" },
	{ IMAGE "networks: [{lima: a, macAddress: '52-55:55:01:02:03'}]\n",
	  "networks[0].macAddress: must be six bytes" },
	{ IMAGE "copyToHost: [{host: /a}]\n", "copyToHost[0].guest: must be set" },
	{ IMAGE "param: {1a: x}\n", ":2:9: param.1a: is no name of a parameter: a letter, then letters, digits and _" },
	{ IMAGE "param: {a: \"x\\n\"}\nmessage: '{{.Param.a}}'\n", ":2:12: param.a: must not hold line ends" },
	{ IMAGE "additionalDisks: [a--b]\n", "additionalDisks[0].name: must be letters and digits" },
	{ IMAGE "additionalDisks: [a.yaml]\n", "additionalDisks[0].name: must not end in .yml or .yaml; got \"a.yaml\"" },
	{ IMAGE "vmOpts: {qemu: {minimumVersion: x}}\n", "vmOpts.qemu.minimumVersion: must be a semantic version" },
};

static void test_broken_rules_of_lima(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(broken_lima_rules) / sizeof(*broken_lima_rules); i++)
		assert_finding(broken_lima_rules[i].text, broken_lima_rules[i].says);
}

static void test_warnings(void **state)
{
	static const struct {
		const char *text, *says;
	} rows[] = {
		{ IMAGE "mounts: [{location: /no-such-folder}]\n",
		  "warning: t.yaml:2:21: mounts[0].location: is a folder that does not exist: /no-such-folder" },
		{ IMAGE "provision: [{mode: ansible, playbook: p}]\n", "provision[0].mode: ansible is deprecated" },
		{ IMAGE "provision: [{script: 'echo $LIMA_CIDATA_USER'}]\n",
		  "provision[0].script: uses LIMA_CIDATA variables" },
		{ IMAGE "param: {a: x}\n",
		  ":2:12: param.a: is not used: write {{.Param.a}} or $PARAM_a somewhere, or remove it" },
		{ IMAGE "param: {a: x}\nmessage: '{{.Param.ab}} PARAM_ab XPARAM_a .Param.a'\n", "param.a: is not used" },
		{ IMAGE "cpuType: {x86_64: max}\n",
		  "warning: t.yaml:2:1: cpuType: is deprecated; write vmOpts.qemu.cpuType\n" },
		{ IMAGE "rosetta: {enabled: true}\n", "rosetta: is deprecated; write vmOpts.vz.rosetta\n" },
		{ IMAGE "mounts: [{location: /var/lib, mountPoint: /m}, {location: /var/log, mountPoint: /m/log}]\n",
		  "warning: t.yaml:2:48: mounts[1]: lies in /m, where mounts[0] puts another folder" },
		{ IMAGE "mounts: [{location: /var/log, mountPoint: //m/x}, {location: /var, mountPoint: /m/}]\n",
		  "mounts[0]: lies in /m/, where mounts[1] puts another folder" },
		{ IMAGE "mounts: [{location: /root}]\nuser: {name: root}\n",
		  "mounts[0].location: hides the home of the guest's own user, /root" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		auto_loaded l = load_ok(rows[i].text);

		if (!strstr(l.lines, rows[i].says))
			fail_msg("%s%s", rows[i].text, l.lines);
	}
}

static void test_broken_port_rules(void **state)
{
	static const struct {
		const char *rule, *says;
	} rows[] = {
		{ "guestIP: localhost",
		  ":3:13: portForwards[0].guestIP: must be an IP address; got \"localhost\"" },
		{ "hostIP: 1.2.3", "portForwards[0].hostIP: must be an IP address" },
		{ "guestIP: 127.0.0.1, guestIPMustBeZero: true",
		  "portForwards[0].guestIPMustBeZero: can only be true when `portForwards[0].guestIP` is 0.0.0.0" },
		{ "guestPort: 80, guestPortRange: [81, 90]",
		  "portForwards[0].guestPort: must match `portForwards[0].guestPortRange[0]`" },
		{ "guestPort: 80, hostPort: 1, hostPortRange: [2, 2]",
		  "portForwards[0].hostPort: must match `portForwards" },
		{ "guestPortRange: [20, 10]",
		  "portForwards[0].guestPortRange: must not end before it begins: [20, 10]" },
		{ "guestPortRange: [0, 10]",
		  "portForwards[0].guestPortRange: must be two ports from 1 to 65535" },
		{ "guestPortRange: [1, 10], hostPortRange: [1, 11]",
		  "portForwards[0].hostPortRange: must have as many ports" },
		{ "guestPortRange: [1, 10], hostPort: 5",
		  "portForwards[0].hostPortRange: must have as many ports" },
		{ "guestSocket: run/x, hostSocket: y",
		  "portForwards[0].guestSocket: must be an absolute path" },
		{ "guestSocket: /x, guestPort: 1, hostSocket: y",
		  "portForwards[0].guestPort: must be 0 when `portForwards[0].guestSocket` is set" },
		{ "guestSocket: /x, hostPort: 1, hostSocket: y",
		  "portForwards[0].hostPort: must be 0" },
		{ "guestSocket: /x",
		  "portForwards[0].guestSocket: leads to one socket or one port of the host" },
		{ "guestPortRange: [5, 6], hostSocket: y",
		  "portForwards[0].hostSocket: leads to one socket or one port of the guest" },
		{ "guestPort: 22", "portForwards[0].guestPort: must not be 22" },
		{ "guestPort: 5, hostPortRange: [22, 22]", "portForwards[0].hostPortRange: must not be 22" },
		{ "guestSocket: /x, hostPort: 5, reverse: true",
		  "portForwards[0].reverse: needs both guestSocket and hostSocket" },
		{ "guestSocket: /x, hostPort: 5, socket: {mode: '0660'}",
		  "portForwards[0].socket: is for the socket that is listened on: give hostSocket" },
		{ "guestSocket: /x, hostSocket: y, socket: {mode: '1777'}",
		  "portForwards[0].socket.mode: must be at most 0777; got 1777" },
		{ "guestSocket: /x, hostSocket: y, socket: {mode: rw}",
		  "portForwards[0].socket.mode: must be an octal number" },
		{ "guestSocket: /x, hostSocket: y, socket: {group: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa}",
		  "portForwards[0].socket.group: must have at most 32 bytes" },
		{ "guestSocket: /x, hostSocket: ''",
		  "portForwards[0].hostSocket: must not be empty" },
		{ "guestSocket: /x, hostSocket: /aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
		  "aaaaaaaaaaaaaaaaaaaaaaaaa",
		  "must be shorter than 108 bytes; it has 108" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		char text[600];

		snprintf(text, sizeof(text), IMAGE "portForwards:\n- {%s}\n", rows[i].rule);
		assert_finding(text, rows[i].says);
	}
}

static void test_what_is_right_passes(void **state)
{
	static const char *const texts[] = {
		"images: [{location: /a, digest: 'sha256:" HEX32 HEX32 "'}]\n",
		"images: [{location: /a, digest: 'sha512:" HEX32 HEX32 HEX32 HEX32 "'}]\n",
		"images: [{location: /a, kernel: {location: k}, initrd: {location: i}}]\nguest: {init: lean}\n",
		IMAGE "vmType: fake\nguest: {init: lean}\n",
		IMAGE "minimumLimaVersion: 2.2.0\n",
		IMAGE "minimumLimaVersion: v1.0.0-alpha.1\n",
		IMAGE "minimumLimaVersion: 1.99.99\n",
		IMAGE
		"portForwards: [{guestPort: 7012, hostIP: '::1'}, {guestIP: '::', guestPort: 1}]\n",
		IMAGE
		"portForwards: [{guestSocket: '{{.Home}}/x', hostSocket: '{{.Dir}}/sock/x'}]\n",
		IMAGE "portForwards: [{guestPortRange: [1, 65535], ignore: true}]\n",
		IMAGE "idle: {pauseAfter: 1h, suspendAfter: 0}\n",
		IMAGE "idle: {pauseAfter: 0, suspendAfter: 1m}\n",
		IMAGE "env: {_A1: x, http_proxy: y}\n",
		IMAGE "param: {a: x}\nmessage: '{{ if eq .Param.a \"x\" }}y{{end}}'\n",
		IMAGE "param: {a: x}\nprovision: [{script: 'echo $PARAM_a'}]\n",
		IMAGE "param: {internal_netplanOptional: x}\n",
		IMAGE "portForwards: [{guestSocket: /x, hostPort: 5}, {hostSocket: y, guestPort: 5}]\n",
		IMAGE "hostResolver: {enabled: false}\ndns: [1.1.1.1]\n",
		IMAGE "networks: [{socket: /no/such}, {vzNAT: true}, {lima: x, socket: ''}]\n",
		IMAGE "provision: [{mode: data, path: '{{.Home}}/x', content: ''}]\n",
		IMAGE "provision: [{mode: yq, path: /x, expression: .a, permissions: 0600}]\n",
		IMAGE "os: Windows\nuser: {shell: 'C:\\Windows\\CMD.EXE'}\n",
		IMAGE "rosetta: {enabled: null}\ncpuType:\n",
		IMAGE "mounts: [{location: /proc, mountPoint: /mnt}]\n",
		IMAGE "mounts: [{location: /proc, mountPoint: /p..q}, {location: /proc/self, mountPoint: //p..q/self/}]\n",
		IMAGE "mounts: [{location: /var/lib}, {location: /var/lib/dpkg}, {location: /var/log, mountPoint: /var/lib2}]\n",
		IMAGE "arch: ''\nos: ''\nvmType: ''\nprovision: [{mode: '', script: x}]\n",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		struct loaded l = load_ok(texts[i]);

		assert_string_equal(l.lines, "");
		unload(&l);
	}
}

static void test_a_wrong_value_is_not_reported_again_as_missing(void **state)
{
	(void)state;
	assert_findings("images: [{location: [x]}]\n",
			"t.yaml:1:21: images[0].location: must be text, not a list\n");
	assert_findings("images: x\n", "t.yaml:1:9: images: must be a list, not text\n");
	assert_findings(IMAGE "provision: [{script: [x]}]\n",
			"t.yaml:2:22: provision[0].script: must be text, not a list\n");
	assert_findings(IMAGE "mounts: [/tmp, ~, [a]]\n",
			"t.yaml:2:10: mounts[0]: must be a mapping, not text\n"
			"t.yaml:2:16: mounts[1]: must be a mapping, not nothing\n"
			"t.yaml:2:19: mounts[2]: must be a mapping, not a list\n");
	assert_findings(IMAGE "provision: [3]\n", "t.yaml:2:13: provision[0]: must be a mapping, not a whole number\n");
	assert_findings(
		IMAGE "memory: x\n",
		"t.yaml:2:9: memory: \"x\" is not a size; write for example 512MiB, 4GiB or 1.5GiB\n");
}

static void test_an_empty_list_of_rules_gets_a_hint(void **state)
{
	auto_loaded l = load_ok(IMAGE "portForwards: []\n");

	(void)state;
	assert_non_null(l.lines);
	assert_non_null(strstr(
		l.lines,
		"warning: t.yaml:2:15: portForwards: is an empty list, which forwards every port"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_broken_rules_are_named_with_their_place),
		cmocka_unit_test(test_broken_rules_of_lima),
		cmocka_unit_test(test_warnings),
		cmocka_unit_test(test_broken_port_rules),
		cmocka_unit_test(test_what_is_right_passes),
		cmocka_unit_test(test_a_wrong_value_is_not_reported_again_as_missing),
		cmocka_unit_test(test_an_empty_list_of_rules_gets_a_hint),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
