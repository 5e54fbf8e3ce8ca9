#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "lib/agentproto.h"

static uint8_t bytes[MUX_MESSAGE_MAX + 1], other[MUX_MESSAGE_MAX];

/* Any shorter piece and one byte more is refused, and so is any place to write that is too short. */
#define CHECK_EXACT(name, v, n)                                                \
	do {                                                                   \
		for (size_t k_ = 0; k_ < (n); k_++) {                          \
			assert_int_equal(name##_unpack((v), bytes, k_), -1);   \
			assert_int_equal(name##_unpack((v), bytes, (n)), 0);   \
			assert_int_equal(name##_pack((v), other, k_), -1);     \
		}                                                              \
		bytes[n] = 0;                                                  \
		assert_int_equal(name##_unpack((v), bytes, (n) + 1), -1);      \
	} while (0)

static void test_open(void **state)
{
	static const struct ap_open opens[] = {
		{ .kind = AP_OPEN_TCP, .family = 4, .addr = { 127, 0, 0, 1 }, .port = 8080 },
		{ .kind = AP_OPEN_TCP, .family = 6, .addr = { 1, [15] = 2 }, .port = 65535 },
		{ .kind = AP_OPEN_UDP, .family = 4, .port = 53 },
		{ .kind = AP_OPEN_UNIX, .path = "/var/run/docker.sock" },
		{ .kind = AP_OPEN_EXEC },
		{ .kind = AP_OPEN_REVERSE, .index = 513 },
		{ .kind = AP_OPEN_SOCKS },
		{ .kind = AP_OPEN_EVENTS },
		{ .kind = AP_OPEN_SSHFS, .index = 31, .flags = AP_SSHFS_WRITABLE | AP_SSHFS_FOLLOW, .path = "/a b" },
		{ .kind = AP_OPEN_DNS, .family = 4, .addr = { 10, 0, 2, 3 }, .port = 53 },
	};
	struct ap_open v;

	(void)state;
	for (size_t i = 0; i < sizeof(opens) / sizeof(opens[0]); i++) {
		ssize_t n = ap_open_pack(&opens[i], bytes, sizeof(bytes));

		assert_true(n > 0);
		memset(&v, 0xff, sizeof(v));
		assert_int_equal(ap_open_unpack(&v, bytes, (size_t)n), 0);
		assert_int_equal(v.kind, opens[i].kind);
		assert_int_equal(v.family, opens[i].family);
		assert_int_equal(v.port, opens[i].port);
		assert_memory_equal(v.addr, opens[i].addr, 16);
		assert_string_equal(v.path, opens[i].path);
		assert_int_equal(v.index, opens[i].index);
		assert_int_equal(v.flags, opens[i].flags);
		CHECK_EXACT(ap_open, &v, (size_t)n);
	}
}

static void test_bad_opens(void **state)
{
	static const struct {
		uint8_t len, bytes[12];
	} bad[] = {
		{ 1, { 0 } },
		{ 1, { 5 } },
		{ 9, { 1, 5, 0, 80, 0, 1, 2, 3, 4 } },    /* family */
		{ 9, { 1, 4, 1, 80, 0, 1, 2, 3, 4 } },    /* reserved */
		{ 9, { 1, 4, 0, 0, 0, 1, 2, 3, 4 } },     /* port 0 */
		{ 3, { 2, 0, 0 } },                       /* no path */
		{ 6, { 2, 3, 0, 'a', 'b', 'c' } },        /* not absolute */
		{ 6, { 2, 3, 0, '/', 0, 'c' } },          /* NUL within */
		{ 6, { 2, 0, 4, '/', 'b', 'c' } },        /* longer than there is */
		{ 7, { 10, 0, 0, 8, 1, 0, '/' } },        /* a flag of nobody's */
		{ 7, { 10, 0, 0, 1, 1, 0, 'a' } },        /* not absolute */
	};
	struct ap_open v = { .kind = AP_OPEN_TCP, .family = 4 };

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(ap_open_unpack(&v, bad[i].bytes, bad[i].len), -1);
	v = (struct ap_open){ .kind = AP_OPEN_TCP, .family = 4 };
	assert_int_equal(ap_open_pack(&v, bytes, sizeof(bytes)), -1); /* port 0 */
	v = (struct ap_open){ .kind = AP_OPEN_UNIX, .path = "relative" };
	assert_int_equal(ap_open_pack(&v, bytes, sizeof(bytes)), -1);
	v = (struct ap_open){ .kind = (enum ap_open_kind)99 };
	assert_int_equal(ap_open_pack(&v, bytes, sizeof(bytes)), -1);
}

static void test_path_of_full_length(void **state)
{
	struct ap_open v = { .kind = AP_OPEN_UNIX }, got;
	ssize_t n;

	(void)state;
	memset(v.path, '/', AP_PATH_MAX - 1);
	n = ap_open_pack(&v, bytes, sizeof(bytes));
	assert_int_equal(n, 3 + AP_PATH_MAX - 1);
	assert_int_equal(ap_open_unpack(&got, bytes, (size_t)n), 0);
	assert_string_equal(got.path, v.path);
	bytes[1]++; /* one more than fits with its NUL */
	bytes[n] = '/';
	if (!bytes[1])
		bytes[2]++;
	assert_int_equal(ap_open_unpack(&got, bytes, (size_t)n + 1), -1);
}

static void test_info(void **state)
{
	struct ap_info v = { 4000000000u, 0x0123456789abcdefu, "1.2", "demo", "6.18.56-0-virt", "ebpf" }, got;
	ssize_t n = ap_info_pack(&v, bytes, sizeof(bytes));

	(void)state;
	assert_true(n > 0);
	assert_int_equal(ap_info_unpack(&got, bytes, (size_t)n), 0);
	assert_int_equal(got.pid, v.pid);
	assert_int_equal(got.boot_id, v.boot_id);
	assert_string_equal(got.kernel, v.kernel);
	assert_string_equal(got.port_events, v.port_events);
	CHECK_EXACT(ap_info, &got, (size_t)n);
	memset(v.hostname, 'h', sizeof(v.hostname)); /* not terminated: cut, not read beyond */
	n = ap_info_pack(&v, bytes, sizeof(bytes));
	assert_int_equal(ap_info_unpack(&got, bytes, (size_t)n), 0);
	assert_int_equal(strlen(got.hostname), 64);
}

static void test_ports(void **state)
{
	static struct ap_ports v, got;
	ssize_t n;

	(void)state;
	v.snapshot = true;
	v.count = 3;
	v.change[0].listening = true;
	v.change[0].port = (struct ap_port){ AP_TCP, 4, { 0 }, 8080 };
	v.change[1].port = (struct ap_port){ AP_UDP, 6, { [15] = 1 }, 53 };
	v.change[2].port = (struct ap_port){ AP_TCP, 6, { 0xfe }, 1 };
	n = ap_ports_pack(&v, bytes, sizeof(bytes));
	assert_int_equal(n, 4 + 10 + 22 + 22);
	memset(&got, 0xff, sizeof(got));
	assert_int_equal(ap_ports_unpack(&got, bytes, (size_t)n), 0);
	assert_true(got.snapshot);
	assert_int_equal(got.count, 3);
	for (size_t i = 0; i < 3; i++) {
		assert_int_equal(got.change[i].listening, v.change[i].listening);
		assert_memory_equal(&got.change[i].port, &v.change[i].port, sizeof(struct ap_port));
	}
	CHECK_EXACT(ap_ports, &got, (size_t)n);
	bytes[4] = 2; /* neither opened nor closed */
	assert_int_equal(ap_ports_unpack(&got, bytes, (size_t)n), -1);
	bytes[4] = 1;
	bytes[5] = 3; /* no protocol */
	assert_int_equal(ap_ports_unpack(&got, bytes, (size_t)n), -1);
}

static void test_most_ports_fit_a_message(void **state)
{
	static struct ap_ports v, got;
	ssize_t n;

	(void)state;
	v.count = AP_PORTS_MAX;
	for (size_t i = 0; i < AP_PORTS_MAX; i++)
		v.change[i].port = (struct ap_port){ AP_TCP, 6, { 1 }, (uint16_t)(i + 1) };
	n = ap_ports_pack(&v, bytes, MUX_MESSAGE_MAX);
	assert_true(n > 0);
	assert_int_equal(ap_ports_unpack(&got, bytes, (size_t)n), 0);
	v.count++;
	assert_int_equal(ap_ports_pack(&v, bytes, sizeof(bytes)), -1);
}

static void test_provision(void **state)
{
	static struct ap_provision v = { 7, AP_PROVISION_FAILED, -9, "sh: nope\n" }, got;
	ssize_t n = ap_provision_pack(&v, bytes, sizeof(bytes));

	(void)state;
	assert_true(n > 0);
	assert_int_equal(ap_provision_unpack(&got, bytes, (size_t)n), 0);
	assert_int_equal(got.index, 7);
	assert_int_equal(got.state, AP_PROVISION_FAILED);
	assert_int_equal(got.status, -9);
	assert_string_equal(got.tail, v.tail);
	CHECK_EXACT(ap_provision, &got, (size_t)n);
	bytes[2] = AP_PROVISION_ASKS + 1;
	assert_int_equal(ap_provision_unpack(&got, bytes, (size_t)n), -1);
	v.state = 0;
	assert_int_equal(ap_provision_pack(&v, bytes, sizeof(bytes)), -1);
}

static void test_boot_and_time(void **state)
{
	struct ap_boot v = { AP_BOOT_DONE, "resize2fs: no space" }, got;
	ssize_t n = ap_boot_pack(&v, bytes, sizeof(bytes));
	struct ap_clock clock;
	uint64_t ns;

	(void)state;
	assert_true(n > 0);
	assert_int_equal(ap_boot_unpack(&got, bytes, (size_t)n), 0);
	assert_int_equal(got.phase, AP_BOOT_DONE);
	assert_string_equal(got.detail, v.detail);
	CHECK_EXACT(ap_boot, &got, (size_t)n);
	bytes[0] = 0;
	assert_int_equal(ap_boot_unpack(&got, bytes, (size_t)n), -1);
	v.phase = AP_BOOT_STOPPING + 1;
	assert_int_equal(ap_boot_pack(&v, bytes, sizeof(bytes)), -1);

	uint16_t index;

	assert_int_equal(ap_mounted_pack(31, bytes, sizeof(bytes)), 2);
	assert_int_equal(ap_mounted_unpack(&index, bytes, 2), 0);
	assert_int_equal(index, 31);
	assert_int_equal(ap_mounted_unpack(&index, bytes, 1), -1);
	assert_int_equal(ap_mounted_unpack(&index, bytes, 3), -1);
	assert_int_equal(ap_time_pack(1796036400123456789u, bytes, 8), 8);
	assert_int_equal(ap_time_pack(1, other, 7), -1);
	assert_int_equal(ap_time_unpack(&ns, bytes, 8), 0);
	assert_true(ns == 1796036400123456789u);
	assert_int_equal(ap_time_unpack(&ns, bytes, 7), -1);
	assert_int_equal(ap_time_unpack(&ns, bytes, 9), -1);
	assert_int_equal(ap_clock_pack(&(struct ap_clock){ 7, 1796036400123456789u }, bytes, 16), 16);
	assert_int_equal(ap_clock_unpack(&clock, bytes, 16), 0);
	assert_true(clock.stamp == 7 && clock.ns == 1796036400123456789u);
	CHECK_EXACT(ap_clock, &clock, 16);
}

static void test_trouble(void **state)
{
	struct ap_trouble v = { "dockerd", "ended too soon" }, got;
	ssize_t n = ap_trouble_pack(&v, bytes, sizeof(bytes));

	(void)state;
	assert_true(n > 0);
	assert_int_equal(ap_trouble_unpack(&got, bytes, (size_t)n), 0);
	assert_string_equal(got.what, v.what);
	assert_string_equal(got.why, v.why);
	CHECK_EXACT(ap_trouble, &got, (size_t)n);
	v.why[0] = '\0'; /* over */
	n = ap_trouble_pack(&v, bytes, sizeof(bytes));
	assert_int_equal(ap_trouble_unpack(&got, bytes, (size_t)n), 0);
	v.what[0] = '\0';
	assert_int_equal(ap_trouble_pack(&v, bytes, sizeof(bytes)), -1);
	memset(bytes, 0, 4);
	assert_int_equal(ap_trouble_unpack(&got, bytes, 4), -1);
}

static void test_reverse(void **state)
{
	static struct ap_reverse v = { .count = 2, .socket = { { 3, 0660, "docker", "/run/a.sock" },
							       { 4095, 0600, "", "/b" } } };
	static struct ap_reverse got;
	ssize_t n = ap_reverse_pack(&v, bytes, sizeof(bytes));

	(void)state;
	assert_true(n > 0);
	memset(&got, 0xff, sizeof(got));
	assert_int_equal(ap_reverse_unpack(&got, bytes, (size_t)n), 0);
	assert_int_equal(got.count, 2);
	assert_int_equal(got.socket[0].index, 3);
	assert_int_equal(got.socket[0].mode, 0660);
	assert_string_equal(got.socket[0].group, "docker");
	assert_string_equal(got.socket[0].path, "/run/a.sock");
	assert_string_equal(got.socket[1].path, "/b");
	CHECK_EXACT(ap_reverse, &got, (size_t)n);
	bytes[4] = 0xff; /* more than rights */
	bytes[5] = 0x02;
	assert_int_equal(ap_reverse_unpack(&got, bytes, (size_t)n), -1);
	bytes[4] = 0xb0;
	bytes[5] = 0x01;
	assert_int_equal(ap_reverse_unpack(&got, bytes, (size_t)n), 0);
	memcpy(v.socket[1].path, "b", 2); /* not absolute */
	assert_int_equal(ap_reverse_pack(&v, bytes, sizeof(bytes)), -1);
	v.count = AP_REVERSE_MAX + 1;
	assert_int_equal(ap_reverse_pack(&v, bytes, sizeof(bytes)), -1);
	memset(bytes, 0, sizeof(bytes));
	bytes[0] = AP_REVERSE_MAX + 1;
	assert_int_equal(ap_reverse_unpack(&got, bytes, sizeof(bytes)), -1);
}

static void test_host_keys(void **state)
{
	static struct ap_host_keys v = { .count = 2, .key = { "ssh-ed25519 AAAAC3Nz+/8=", "ecdsa-sha2-nistp256 AAAA" } };
	static struct ap_host_keys got;
	ssize_t n = ap_host_keys_pack(&v, bytes, sizeof(bytes));

	(void)state;
	assert_true(n > 0);
	memset(&got, 0xff, sizeof(got));
	assert_int_equal(ap_host_keys_unpack(&got, bytes, (size_t)n), 0);
	assert_int_equal(got.count, 2);
	assert_string_equal(got.key[0], v.key[0]);
	assert_string_equal(got.key[1], v.key[1]);
	CHECK_EXACT(ap_host_keys, &got, (size_t)n);
	bytes[4] = '@'; /* "@cert-authority" begins so */
	assert_int_equal(ap_host_keys_unpack(&got, bytes, (size_t)n), -1);
	v.count = AP_HOST_KEYS_MAX + 1;
	assert_int_equal(ap_host_keys_pack(&v, bytes, sizeof(bytes)), -1);
	memset(bytes, 0, sizeof(bytes));
	bytes[0] = AP_HOST_KEYS_MAX + 1;
	assert_int_equal(ap_host_keys_unpack(&got, bytes, sizeof(bytes)), -1);
}

/* What is written into a line of known_hosts as it comes. */
static void test_a_host_key_is_two_words_and_nothing_else(void **state)
{
	static const char *const bad[] = {
		"", "ssh-ed25519", "ssh-ed25519 ", " AAAA", "ssh-ed25519  AAAA", "ssh-ed25519 AAAA comment", "ssh-ed25519 AAAA\n* x AAAA",
		"ssh-ed25519 AAAA\r", "@revoked AAAA", "-x AAAA", "ssh-rsa,x AAAA", "ssh-ed25519\tAAAA", "ssh-ed25519 A*A", "9 AAAA",
	};
	static const char *const good[] = { "ssh-rsa AAAAB3NzaC1yc2E=", "sk-ssh-ed25519@openssh.com AAAA" };

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_false(ap_host_key_ok(bad[i]));
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		assert_true(ap_host_key_ok(good[i]));
}

static void test_suspend_and_woken(void **state)
{
	struct ap_suspend v = { "/mnt is in use" }, got;
	struct ap_woken w = { { 1, 2, [31] = 32 } }, seed;
	ssize_t n = ap_suspend_pack(&v, bytes, sizeof(bytes));

	(void)state;
	assert_int_equal(ap_suspend_unpack(&got, bytes, (size_t)n), 0);
	assert_string_equal(got.why, v.why);
	CHECK_EXACT(ap_suspend, &got, (size_t)n);
	v.why[0] = '\0'; /* it is ready */
	n = ap_suspend_pack(&v, bytes, sizeof(bytes));
	assert_int_equal(ap_suspend_unpack(&got, bytes, (size_t)n), 0);
	n = ap_woken_pack(&w, bytes, sizeof(bytes));
	assert_int_equal(n, AP_SEED_SIZE);
	assert_int_equal(ap_woken_unpack(&seed, bytes, (size_t)n), 0);
	assert_memory_equal(seed.seed, w.seed, sizeof(w.seed));
	CHECK_EXACT(ap_woken, &seed, (size_t)n);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_reverse),
		cmocka_unit_test(test_host_keys),
		cmocka_unit_test(test_a_host_key_is_two_words_and_nothing_else),
		cmocka_unit_test(test_open),
		cmocka_unit_test(test_bad_opens),
		cmocka_unit_test(test_path_of_full_length),
		cmocka_unit_test(test_info),
		cmocka_unit_test(test_ports),
		cmocka_unit_test(test_most_ports_fit_a_message),
		cmocka_unit_test(test_provision),
		cmocka_unit_test(test_trouble),
		cmocka_unit_test(test_suspend_and_woken),
		cmocka_unit_test(test_boot_and_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
