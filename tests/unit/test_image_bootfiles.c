/* Kernel, initramfs and arguments out of an ISO. */
#include "tests/unit/image_util.h"

#include "limactl-c/image/boot_config.h"

static void assert_entry(const char *text, const char *kernel, const char *initrds, const char *args)
{
	auto_boot_entry b = BOOT_ENTRY_INIT;
	char all[1000] = "";
	struct err e = { 0 };

	if (boot_config_parse(text, strlen(text), &b, &e) < 0)
		fail_msg("%s: %s", text, e.msg);
	assert_string_equal(b.kernel, kernel);
	for (size_t i = 0; i < b.initrds; i++)
		snprintf(all + strlen(all), sizeof(all) - strlen(all), "%s%s", i ? " " : "", b.initrd[i]);
	assert_string_equal(all, initrds);
	assert_string_equal(b.args, args);
}

static void test_each_loaders_way_to_say_it(void **state)
{
	(void)state;
	/* Alpine's GRUB and syslinux */
	assert_entry("set timeout=1\nmenuentry \"Linux virt\" {\nlinux\t/boot/vmlinuz-virt modules=loop,squashfs quiet\n"
		     "initrd\t/boot/initramfs-virt\n}\n",
		     "boot/vmlinuz-virt", "boot/initramfs-virt", "modules=loop,squashfs quiet");
	assert_entry("TIMEOUT 10\nPROMPT 1\nDEFAULT virt\n\nLABEL virt\nMENU LABEL Linux virt\nKERNEL /boot/vmlinuz-virt\n"
		     "INITRD /boot/initramfs-virt\nFDTDIR /boot/dtbs-virt\nAPPEND modules=loop quiet\n",
		     "boot/vmlinuz-virt", "boot/initramfs-virt", "modules=loop quiet");
	/* initrd as an argument, several of them, CRLF, quotes, the loader's own words */
	assert_entry("label a\r\n  linux /k\r\n  append initrd=/i1,/i2 BOOT_IMAGE=/k \"x=a b\" --- quiet\r\n", "k", "i1 i2",
		     "x=a b quiet");
	assert_entry("menuentry x {\n linuxefi ($root)/casper/vmlinuz a=$var b\n initrdefi (cd0)/casper/initrd /micro\n}\n",
		     "casper/vmlinuz", "casper/initrd micro", "b");
	assert_entry("title Alpine\nlinux /vmlinuz\ninitrd /initrd\noptions root=/dev/vda rw\n", "vmlinuz", "initrd",
		     "root=/dev/vda rw");
	/* The first entry that is complete. */
	assert_entry("menuentry memtest {\nlinux16 /memtest\n}\nmenuentry x {\nlinux /k a # not this\ninitrd /i\n}\n"
		     "menuentry y {\nlinux /k2\ninitrd /i2\n}", "k", "i", "a");
}

static void test_what_leaves_the_volume_or_needs_the_loader_is_no_entry(void **state)
{
	static const char *const rows[] = {
		"", "linux /k\n", "initrd /i\n", "linux ../k\ninitrd /i\n", "linux /k\ninitrd /a/../../i\n",
		"linux $kernel\ninitrd /i\n", "linux /\ninitrd /i\n",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct boot_entry b;
		struct err e;

		assert_int_equal(boot_config_parse(rows[i], strlen(rows[i]), &b, &e), -1);
		assert_null(b.kernel);
	}
}

/* Zeros at the end are bytes too; a second initramfs begins at a multiple of 4. */
static void test_files_come_out_of_the_volume_whole(void **state)
{
	static const char cfg[] = "menuentry a {\nlinux /boot/vmlinuz q\ninitrd /boot/one /boot/two\n}\n";
	char zeros[20000] = "kernel", said[1024];
	auto_free char *kernel = put("vmlinuz", zeros, sizeof(zeros)), *one = put_text("one", "abcde"),
		       *two = put_text("two", "xyz"), *grub = put_text("grub.cfg", cfg), *iso = at("boot.iso"),
		       *k = at("k"), *i = at("i"), *list = NULL, *text = NULL;
	struct err e = { 0 };
	char got[20000];
	FILE *f;

	(void)state;
	text = xasprintf("644 boot/vmlinuz %s\n644 boot/one %s\n644 boot/two %s\n644 boot/grub/grub.cfg %s\n", kernel, one,
			 two, grub);
	list = put_text("list", text);
	assert_int_equal(RUN(command_seed, said, &e, "--label", "X", "--out", iso, "--list", list), 0);
	if (RUN(command_bootfiles, said, &e, iso, "--kernel", k, "--initrd", i))
		fail_msg("%s", e.msg);
	assert_string_equal(said, "q");
	f = fopen(k, "r");
	assert_int_equal(fread(got, 1, sizeof(got), f), sizeof(got));
	assert_int_equal(fgetc(f), EOF);
	fclose(f);
	assert_memory_equal(got, zeros, sizeof(got));
	f = fopen(i, "r");
	assert_int_equal(fread(got, 1, sizeof(got), f), 11);
	fclose(f);
	assert_memory_equal(got, "abcde\0\0\0xyz", 11);
}

static void test_a_configuration_too_large_to_be_one_is_passed_over(void **state)
{
	auto_free char *large = xmalloc(BOOT_CONFIG_MAX + 1), *big = NULL, *iso = at("large.iso"), *k = at("k3"), *i = at("i3");
	auto_free char *kernel = put_text("vmlinuz3", "kernel"), *initrd = put_text("initrd3", "initrd"), *list = NULL;
	auto_free char *small = put_text("syslinux.cfg", "label a\nlinux /k\ninitrd /i\nappend q\n"), *text = NULL, *got = NULL;
	struct err e = { 0 };
	char said[1024];

	(void)state;
	memset(large, '#', BOOT_CONFIG_MAX + 1);
	big = put("grub3.cfg", large, BOOT_CONFIG_MAX + 1);
	text = xasprintf("644 boot/grub/grub.cfg %s\n644 boot/syslinux/syslinux.cfg %s\n644 k %s\n644 i %s\n", big, small,
			 kernel, initrd);
	list = put_text("list3", text);
	assert_int_equal(RUN(command_seed, said, &e, "--label", "X", "--out", iso, "--list", list), 0);
	if (RUN(command_bootfiles, said, &e, iso, "--kernel", k, "--initrd", i))
		fail_msg("%s", e.msg);
	assert_string_equal(said, "q");
	got = fs_tail(k, 1, 100);
	assert_string_equal(got, "kernel");
}

static void test_a_volume_without_loader_leaves_nothing(void **state)
{
	auto_free char *a = put_text("a", "x"), *text = xasprintf("644 a %s\n", a), *list = put_text("list", text),
		       *iso = at("plain.iso"), *k = at("k2"), *i = at("i2"), *raw = put("raw.iso", "no iso at all", 13);
	struct err e = { 0 };
	char said[1024];

	(void)state;
	assert_int_equal(RUN(command_seed, said, &e, "--label", "X", "--out", iso, "--list", list), 0);
	assert_int_equal(RUN(command_bootfiles, said, &e, iso, "--kernel", k, "--initrd", i), -1);
	if (!strstr(e.msg, "no configuration of a boot loader"))
		fail_msg("%s", e.msg);
	assert_int_equal(RUN(command_bootfiles, said, &e, raw, "--kernel", k, "--initrd", i), -1);
	assert_int_not_equal(access(k, F_OK), 0);
	assert_int_not_equal(access(i, F_OK), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_loaders_way_to_say_it),
		cmocka_unit_test(test_what_leaves_the_volume_or_needs_the_loader_is_no_entry),
		cmocka_unit_test(test_files_come_out_of_the_volume_whole),
		cmocka_unit_test(test_a_configuration_too_large_to_be_one_is_passed_over),
		cmocka_unit_test(test_a_volume_without_loader_leaves_nothing),
	};

	return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
