/* Defaults: Lima's, from constants and from the host. */
#include "tests/unit/cfg_util.h"

#define GIB ((uint64_t)1 << 30)

static void test_an_image_is_enough(void **state)
{
	auto_loaded l = load_ok(IMAGE);
	const struct cfg *c = &l.cfg;

	(void)state;
	assert_string_equal(c->vm_type, "qemu");
	assert_string_equal(c->os, "Linux");
	assert_string_equal(c->arch, "x86_64");
	assert_int_equal(c->cpus, 4);
	assert_true(c->memory == 4 * GIB);
	assert_true(c->disk == 100 * GIB);
	assert_string_equal(c->user.name, "jane");
	assert_string_equal(c->user.comment, "Jane Doe");
	assert_string_equal(c->user.home, "/home/jane.guest");
	assert_string_equal(c->user.shell, "/bin/bash");
	assert_int_equal(c->user.uid, 1000);
	assert_true(c->user.passwordless_sudo);
	assert_string_equal(c->guest.init, "openrc");
	assert_false(c->guest.direct_boot);
	assert_string_equal(c->idle.when, "noContainers");
	assert_int_equal(c->idle.pause_after, 10);
	assert_int_equal(c->idle.suspend_after, 3600);
	assert_int_equal(c->tuning.commit, 0);
	assert_null(c->cpu_type);
}

static void test_small_hosts_give_less(void **state)
{
	struct cfg_host small = cfg_test_host;

	(void)state;
	small.cpus = 2;
	small.memory = 3 * GIB;
	auto_loaded l = load(IMAGE, &small);

	assert_true(l.ok);
	assert_int_equal(l.cfg.cpus, 2);
	assert_true(l.cfg.memory == 3 * GIB / 2);
}

static void test_default_and_null_mean_not_set(void **state)
{
	auto_loaded l = load_ok(
		"images: [{location: /a, arch: default}]\nvmType: default\nos: default\narch: default\n"
		"cpus: null\nmemory: ~\ndisk:\nuser: {name: null, uid: null}\nidle:\n");

	(void)state;
	assert_string_equal(l.cfg.vm_type, "qemu");
	assert_string_equal(l.cfg.os, "Linux");
	assert_string_equal(l.cfg.image[0].arch, "x86_64");
	assert_int_equal(l.cfg.cpus, 4);
	assert_true(l.cfg.disk == 100 * GIB);
	assert_string_equal(l.cfg.user.name, "jane");
	assert_int_equal(l.cfg.user.uid, 1000);
}

static void test_zero_given_is_not_replaced_by_a_default(void **state)
{
	auto_loaded l = load_ok(
		IMAGE "idle: {pauseAfter: 0s, suspendAfter: 0s}\ntuning: {commit: 0, fstrim: []}\n"
		      "user: {passwordlessSudo: false}\n");

	(void)state;
	assert_int_equal(l.cfg.idle.pause_after, 0);
	assert_int_equal(l.cfg.idle.suspend_after, 0);
	assert_false(l.cfg.user.passwordless_sudo);
}

static void test_macs_use_vz_for_their_own_architecture(void **state)
{
	struct cfg_host mac = cfg_test_host;

	(void)state;
	mac.darwin = true;
	mac.arch = "aarch64";
	{
		auto_loaded l = load("images: [{location: /a}]\n", &mac);

		assert_string_equal(l.cfg.vm_type, "vz");
		assert_string_equal(l.cfg.arch, "aarch64");
	}
	{
		auto_loaded l = load("images: [{location: /a}]\narch: x86_64\n", &mac);

		assert_string_equal(l.cfg.vm_type, "qemu");
	}
}

static void test_the_guests_user_comes_from_the_host(void **state)
{
	static const struct {
		const char *user, *comment;
		unsigned uid;
		const char *yaml;
		const char *name, *home, *full;
		unsigned guest_uid;
	} rows[] = {
		{ "jane", "Jane", 1000, "", "jane", "/home/jane.guest", "Jane", 1000 },
		{ "_svc-1", NULL, 501, "", "_svc-1", "/home/_svc-1.guest", "", 501 },
		{ "Jane", "J", 1000, "", "lima", "/home/lima.guest", "J", 1000 },
		{ "j.doe", "J", 1000, "", "lima", "/home/lima.guest", "J", 1000 },
		{ "1st", "J", 1000, "", "lima", "/home/lima.guest", "J", 1000 },
		{ "admin", "J", 1000, "", "lima", "/home/lima.guest", "J", 1000 },
		{ "a2345678901234567890123456789012", "J", 1000, "", "a2345678901234567890123456789012",
		  "/home/a2345678901234567890123456789012.guest", "J", 1000 },
		{ "a23456789012345678901234567890123", "J", 1000, "", "lima", "/home/lima.guest", "J", 1000 },
		{ NULL, "J\xff\xc3\xa9\xc3", 1000, "", "lima", "/home/lima.guest", "J\xc3\xa9",
		  1000 },
		{ "root", "root", 0, "", "root", "/root", "root", 0 },
		{ "root", "root", 0, "user: {name: dev}", "dev", "/home/dev.guest", "root", 1000 },
		{ "jane", "J", 1000, "user: {name: root}", "root", "/root", "J", 0 },
		{ "jane", "J", 1000, "user: {home: '/h/{{.User}}/{{ .UID }}'}", "jane",
		  "/h/jane/1000", "J", 1000 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct cfg_host h = cfg_test_host;
		char text[200];

		h.user = rows[i].user;
		h.comment = rows[i].comment;
		h.uid = rows[i].uid;
		snprintf(text, sizeof(text), IMAGE "%s\n", rows[i].yaml);
		auto_loaded l = load(text, &h);

		assert_true(l.ok);
		assert_string_equal(l.cfg.user.name, rows[i].name);
		assert_string_equal(l.cfg.user.home, rows[i].home);
		assert_string_equal(l.cfg.user.comment, rows[i].full);
		assert_int_equal(l.cfg.user.uid, rows[i].guest_uid);
	}
}

static void test_port_rules_are_filled_as_lima_does(void **state)
{
	static const struct {
		const char *rule;
		const char *guest_ip;
		bool must_be_zero;
		unsigned guest[2], host[2];
	} rows[] = {
		{ "ignore: true", "127.0.0.1", false, { 1, 65535 }, { 1, 65535 } },
		{ "guestPort: 80", "127.0.0.1", false, { 80, 80 }, { 80, 80 } },
		{ "guestPort: 80, hostPort: 8080", "127.0.0.1", false, { 80, 80 }, { 8080, 8080 } },
		{ "guestPortRange: [10, 20]", "127.0.0.1", false, { 10, 20 }, { 10, 20 } },
		{ "guestPortRange: [10, 20], hostPortRange: [110, 120]",
		  "127.0.0.1",
		  false,
		  { 10, 20 },
		  { 110, 120 } },
		{ "guestPort: 80, guestIP: 0.0.0.0", "0.0.0.0", true, { 80, 80 }, { 80, 80 } },
		{ "guestPort: 80, guestIP: 0.0.0.0, guestIPMustBeZero: false",
		  "0.0.0.0",
		  false,
		  { 80, 80 },
		  { 80, 80 } },
		{ "guestPort: 80, guestIPMustBeZero: true",
		  "0.0.0.0",
		  true,
		  { 80, 80 },
		  { 80, 80 } },
		{ "guestPort: 80, guestIP: '::1'", "::1", false, { 80, 80 }, { 80, 80 } },
		{ "guestPort: 80, guestPortRange: [80, 80], hostPort: 0",
		  "127.0.0.1",
		  false,
		  { 80, 80 },
		  { 80, 80 } },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		const struct cfg_port_forward *f;
		char text[300];

		snprintf(text, sizeof(text), IMAGE "portForwards: [{%s}]\n", rows[i].rule);
		auto_loaded l = load_ok(text);

		f = &l.cfg.forward[0];
		assert_string_equal(f->guest_ip, rows[i].guest_ip);
		assert_string_equal(f->host_ip, "127.0.0.1");
		assert_string_equal(f->proto, "any");
		assert_int_equal(f->guest_ip_must_be_zero, rows[i].must_be_zero);
		assert_memory_equal(f->guest_range, rows[i].guest, sizeof(f->guest_range));
		assert_memory_equal(f->host_range, rows[i].host, sizeof(f->host_range));
	}
}

static void test_direct_boot_where_the_image_has_a_kernel(void **state)
{
	(void)state;
	{
		auto_loaded l = load_ok(
			"images:\n- {location: /b, arch: aarch64, kernel: {location: k}}\n"
			"- {location: /a, kernel: {location: k}, initrd: {location: i}}\nguest: {init: lean}\n");

		assert_true(l.cfg.guest.direct_boot);
		assert_string_equal(l.cfg.image[0].kernel.arch, "aarch64");
		assert_string_equal(l.cfg.image[1].initrd.arch, "x86_64");
		assert_string_equal(l.cfg.user.shell, "/bin/sh");
	}
	{
		auto_loaded l = load_ok(
			"images:\n- {location: /b, arch: aarch64, kernel: {location: k}}\n- {location: /a}\n");

		assert_false(l.cfg.guest.direct_boot);
	}
	{
		auto_loaded l = load_ok(
			"images: [{location: /a, kernel: {location: k}, initrd: {location: i}}]\n"
			"guest: {directBoot: false}\n");

		assert_false(l.cfg.guest.direct_boot);
	}
}

static void test_the_engine_disk_may_depend_on_the_architecture(void **state)
{
	auto_loaded l = load_ok(IMAGE "guest: {engineDisk: 'cache:engine-{{.Arch}}.squashfs'}\n");

	(void)state;
	assert_string_equal(l.cfg.guest.engine_disk, "cache:engine-x86_64.squashfs");
}

static void test_the_cpu_type_of_the_guests_architecture_is_taken(void **state)
{
	(void)state;
	{
		auto_loaded l = load_ok(
			IMAGE "vmOpts: {qemu: {cpuType: {aarch64: cortex-a72, x86_64: qemu64}}}\n");

		assert_string_equal(l.cfg.cpu_type, "qemu64");
	}
	{
		auto_loaded l = load_ok(IMAGE "vmOpts: {qemu: {cpuType: {aarch64: cortex-a72}}}\n");

		assert_null(l.cfg.cpu_type);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_an_image_is_enough),
		cmocka_unit_test(test_small_hosts_give_less),
		cmocka_unit_test(test_default_and_null_mean_not_set),
		cmocka_unit_test(test_zero_given_is_not_replaced_by_a_default),
		cmocka_unit_test(test_macs_use_vz_for_their_own_architecture),
		cmocka_unit_test(test_the_guests_user_comes_from_the_host),
		cmocka_unit_test(test_port_rules_are_filled_as_lima_does),
		cmocka_unit_test(test_direct_boot_where_the_image_has_a_kernel),
		cmocka_unit_test(test_the_engine_disk_may_depend_on_the_architecture),
		cmocka_unit_test(test_the_cpu_type_of_the_guests_architecture_is_taken),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
