/* The table of keys agrees with itself. */
#include "tests/unit/cfg_util.h"

#include <stdlib.h>

#include "limactl-c/config/schema.h"
#include "limactl-c/yaml/parse.h"

/* Rows lie below it. */
static bool is_group(const char *path)
{
	size_t n = strlen(path);

	for (size_t i = 0; i < schema_count; i++)
		if (!strncmp(schema[i].path, path, n) && schema[i].path[n] == '.')
			return true;
	return false;
}

static void test_paths_are_unique_and_no_value_is_a_group(void **state)
{
	(void)state;
	for (size_t i = 0; i < schema_count; i++) {
		assert_ptr_equal(schema_find(schema[i].path), &schema[i]);
		if (is_group(schema[i].path))
			fail_msg("%s is a value and a group", schema[i].path);
	}
}

static void test_every_key_has_help_that_fits_a_line(void **state)
{
	(void)state;
	for (size_t i = 0; i < schema_count; i++) {
		const struct key *k = &schema[i];

		if (!k->help || strlen(k->help) > 110 || (k->def && k->note))
			fail_msg("%s", k->path);
		if ((k->type == KEY_MOVED) != (k->moved != NULL))
			fail_msg("%s", k->path);
		if (k->moved && !schema_find(k->moved) && !is_group(k->moved))
			fail_msg("%s", k->path);
	}
}

/* "a[].b" lies in the elements of "a". */
static const struct key *list_of(const char *path)
{
	const char *end = strstr(path, "[]");
	auto_free char *list = end ? strndup(path, (size_t)(end - path)) : NULL;

	return list ? schema_find(list) : NULL;
}

static void test_list_rows_lie_in_their_element(void **state)
{
	(void)state;
	for (size_t i = 0; i < schema_count; i++) {
		const struct key *k = &schema[i], *list = list_of(k->path);

		if (strstr(k->path, "[]") && (!list || list->type != KEY_LIST || k->at >= list->size))
			fail_msg("%s", k->path);
		if (!list && k->at >= sizeof(struct cfg))
			fail_msg("%s", k->path);
	}
}

static void test_defaults_pass_their_own_rows(void **state)
{
	static const size_t scalars = 1 << KEY_STRING | 1 << KEY_BOOL | 1 << KEY_COUNT |
				      1 << KEY_SIZE | 1 << KEY_SECONDS;

	(void)state;
	for (size_t i = 0; i < schema_count; i++) {
		const struct key *k = &schema[i];
		union {
			uint64_t number;
			char *text;
		} field = { 0 };
		struct err e = { 0 };

		if (!k->def || !(scalars & (size_t)1 << k->type))
			continue;
		if (schema_set(k, &field, k->def, &e) < 0)
			fail_msg("%s: %s", k->path, e.msg);
		if (k->type == KEY_STRING)
			free(field.text);
	}
}

/* The fields of the format's version we follow, named one by one so that none is forgotten. */
static void test_every_field_of_lima_has_a_row(void **state)
{
	static const char *const fields[] = {
		"base[].url", "base[].digest", "minimumLimaVersion", "vmType", "vmOpts.qemu.minimumVersion",
		"vmOpts.qemu.cpuType", "vmOpts.vz.rosetta.enabled", "vmOpts.vz.rosetta.binfmt",
		"vmOpts.vz.diskImageFormat", "os", "arch", "images[].location", "images[].arch",
		"images[].digest", "images[].kernel.location", "images[].kernel.arch",
		"images[].kernel.digest", "images[].kernel.cmdline", "images[].initrd.location",
		"images[].initrd.arch", "images[].initrd.digest", "images[].variant", "images[].archVariant",
		"cpuType", "cpus", "memory", "disk", "additionalDisks[].name", "additionalDisks[].format",
		"additionalDisks[].fsType", "additionalDisks[].fsArgs", "mounts[].location",
		"mounts[].mountPoint", "mounts[].writable", "mounts[].sshfs.cache",
		"mounts[].sshfs.followSymlinks", "mounts[].sshfs.sftpDriver", "mounts[].9p.securityModel",
		"mounts[].9p.protocolVersion", "mounts[].9p.msize", "mounts[].9p.cache",
		"mounts[].virtiofs.queueSize", "mountTypesUnsupported", "mountType", "mountInotify",
		"ssh.localPort", "ssh.loadDotSSHPubKeys", "ssh.forwardAgent", "ssh.forwardX11",
		"ssh.forwardX11Trusted", "ssh.overVsock", "firmware.legacyBIOS", "firmware.images[].location",
		"firmware.images[].arch", "firmware.images[].digest", "firmware.images[].vmType",
		"audio.device", "audio.interface", "video.display", "video.vnc.display", "provision[].mode",
		"provision[].skipDefaultDependencyResolution", "provision[].script", "provision[].file.url",
		"provision[].file.digest", "provision[].playbook", "provision[].content",
		"provision[].overwrite", "provision[].owner", "provision[].path", "provision[].permissions",
		"provision[].expression", "provision[].format", "upgradePackages", "containerd.system",
		"containerd.user", "containerd.archives[].location", "containerd.archives[].arch",
		"containerd.archives[].digest", "guestInstallPrefix", "probes[].mode", "probes[].description",
		"probes[].script", "probes[].file.url", "probes[].file.digest", "probes[].hint",
		"portForwards[].guestIPMustBeZero", "portForwards[].guestIP", "portForwards[].guestPort",
		"portForwards[].guestPortRange", "portForwards[].guestSocket", "portForwards[].hostIP",
		"portForwards[].hostPort", "portForwards[].hostPortRange", "portForwards[].hostSocket",
		"portForwards[].proto", "portForwards[].reverse", "portForwards[].ignore",
		"portForwards[].static", "copyToHost[].guest", "copyToHost[].host",
		"copyToHost[].skipIfMissing", "copyToHost[].deleteOnStop", "message", "networks[].lima",
		"networks[].socket", "networks[].vzNAT", "networks[].macAddress", "networks[].interface",
		"networks[].metric", "env", "param", "dns", "hostResolver.enabled", "hostResolver.ipv6",
		"hostResolver.hosts", "propagateProxyEnv", "caCerts.removeDefaults", "caCerts.files",
		"caCerts.certs", "rosetta", "plain", "timezone", "nestedVirtualization", "user.name",
		"user.comment", "user.home", "user.shell", "user.uid", "user.passwordlessSudo", "tpm",
		"osOpts.Windows.virtioWin[].location", "osOpts.Windows.virtioWin[].arch",
		"osOpts.Windows.virtioWin[].digest",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(fields) / sizeof(*fields); i++) {
		if (!schema_find(fields[i]))
			fail_msg("%s has no row", fields[i]);
	}
}

static void test_the_json_schema_has_every_key(void **state)
{
	auto_pool p = yn_pool_new();
	const struct ynode *root, *mounts, *cpus, *base;
	auto_free char *text = cfg_json_schema();
	struct err e;

	(void)state;
	root = yn_parse_one(p, "schema", text, strlen(text), &e);
	assert_non_null(root);
	root = yn_get(root, "properties");
	for (const struct schema_node *n = schema_root()->child; n; n = n->next) {
		if (!yn_get(root, n->name))
			fail_msg("%s", n->name);
	}
	cpus = yn_get(root, "cpus");
	assert_string_equal(yn_get(cpus, "maximum")->text, "512");
	assert_string_equal(yn_get(cpus, "description")->text, "virtual CPUs");
	mounts = yn_get(yn_get(root, "mounts"), "items");
	assert_string_equal(yn_get(mounts, "required")->item[0]->text, "location");
	assert_string_equal(yn_get(yn_get(yn_get(mounts, "properties"), "writable"), "default")->text, "false");
	base = yn_get(yn_get(root, "base"), "anyOf");
	assert_string_equal(yn_get(base->item[0], "type")->text, "string");
	assert_int_equal(base->count, 3);
	assert_string_equal(yn_get(base->item[1], "type")->text, "object");
	assert_non_null(yn_get(yn_get(base->item[1], "properties"), "digest"));
	assert_string_equal(yn_get(base->item[2], "type")->item[0]->text, "array");
	assert_string_equal(yn_get(yn_get(root, "cpuType"), "deprecated")->text, "true");
	assert_string_equal(yn_get(yn_get(root, "arch"), "enum")->item[1]->text, "aarch64");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_paths_are_unique_and_no_value_is_a_group),
		cmocka_unit_test(test_every_key_has_help_that_fits_a_line),
		cmocka_unit_test(test_list_rows_lie_in_their_element),
		cmocka_unit_test(test_defaults_pass_their_own_rows),
		cmocka_unit_test(test_every_field_of_lima_has_a_row),
		cmocka_unit_test(test_the_json_schema_has_every_key),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
