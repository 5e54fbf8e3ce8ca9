/* The servers of virtiofs mounts: where one is found, which one it is, how it is started. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "lib/cleanup.h"
#include "limactl-c/driver/common.h"
#include "limactl-c/driver/shares.h"
#include "limactl-c/plan/host.h"
#include "tests/unit/tmp_dir.h"

static void put(const char *root, const char *path, const char *text, mode_t mode)
{
	auto_free char *full = xasprintf("%s%s", root, path), *dir = fs_parent(full);
	struct err e = { 0 };

	assert_int_equal(fs_mkdirs(dir, 0755, &e), 0);
	assert_int_equal(fs_write_atomic(full, text, strlen(text), mode, &e), 0);
}

/* A program with that help, and its description. */
static void put_server(const char *root, const char *prefix, const char *number, const char *type, const char *help)
{
	auto_free char *json = xasprintf("%s/share/qemu/vhost-user/%s-x.json", prefix, number);
	auto_free char *program = xasprintf("%s/libexec/%s", prefix, number);
	auto_free char *says = xasprintf("#!/bin/sh\necho '%s'\n", help);
	auto_free char *text = xasprintf("{\"type\": \"%s\", \"binary\": \"%s%s\"}", type, root, program);

	put(root, json, text, 0644);
	put(root, program, says, 0755);
}

static void assert_found(const char *root, const char *program, bool old, bool readonly)
{
	auto_plan_host h = { .home = xasprintf("%s/home", root), .qemu = xstrdup("/nowhere/bin/qemu") };

	plan_host_find_virtiofsd(&h, root);
	if (!program) {
		assert_null(h.virtiofsd);
		return;
	}
	assert_non_null(h.virtiofsd);
	assert_string_equal(h.virtiofsd + strlen(root), program);
	assert_int_equal(h.virtiofsd_old, old);
	assert_int_equal(h.virtiofsd_readonly, readonly);
}

static void test_found_where_qemu_says(void **state)
{
	const char *root = *state;

	assert_found(root, NULL, false, false);
	put_server(root, "/usr", "40", "gpu", "");
	put(root, "/usr/share/qemu/vhost-user/41-x.json", "{\"type\": \"fs\", \"binary\": \"/no/such\"}", 0644);
	put(root, "/usr/share/qemu/vhost-user/42-x.json", "{\"type\": \"fs\", \"binary\": \"relative\"}", 0644);
	put(root, "/usr/share/qemu/vhost-user/43-x.json", "[1, {", 0644);
	assert_found(root, NULL, false, false);
	put_server(root, "/usr", "50", "fs", "  -o source=PATH  shared directory tree");
	assert_found(root, "/usr/libexec/50", true, false);
	put_server(root, "/usr/local", "50", "fs", "--shared-dir <SHARED_DIR>");
	assert_found(root, "/usr/local/libexec/50", false, false);
	put_server(root, "/home/.local", "60", "fs", "--shared-dir <SHARED_DIR> --readonly");
	put_server(root, "/home/.local", "70", "fs", "");
	assert_found(root, "/home/.local/libexec/60", false, true);
}

static void assert_args(bool old, bool root, bool writable, const char *const *want)
{
	const struct plan p = { .virtiofsd = (char *)"/v", .virtiofsd_old = old };
	const struct plan_mount m = { .host_path = (char *)"/a, \\b", .writable = writable };
	char **argv = vm_share_args(&p, &m, root);
	size_t i = 0;

	for (; want[i]; i++) {
		assert_non_null(argv[i]);
		assert_string_equal(argv[i], want[i]);
	}
	assert_null(argv[i]);
	vm_args_free(argv);
}

static void test_arguments(void **state)
{
	static const char *const old[] = { "/v", "--fd=3", "-o", "source=/a\\, \\\\b,xattr,timeout=0,log_level=warn", NULL };
	static const char *const newer[] = { "/v", "--fd=3", "--shared-dir=/a, \\b", NULL };
	static const char *const readonly[] = { "/v", "--fd=3", "--shared-dir=/a, \\b", "--readonly", NULL };

	(void)state;
	assert_args(true, true, false, old);
	assert_args(true, true, true, old);
	assert_args(false, true, false, newer);
	assert_args(false, false, true, newer);
	assert_args(false, false, false, readonly);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_found_where_qemu_says, tmp_dir_make, tmp_dir_remove),
		cmocka_unit_test(test_arguments),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
