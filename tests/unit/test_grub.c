/* What an existing guest's GRUB is told, on folders that stand for guests of different distributions. GRUB's own program is a
 * script here that reads the same files and writes what matters of grub.cfg. */
#include "tests/unit/setup_root.h"
#include "tests/unit/tuning_line.h"

#include <stdio.h>
#include <stdlib.h>

#include "guestagent/grub.h"
#include "guestagent/tuning.h"

#define DROP_IN "/etc/default/grub.d/zz-lima.cfg"
#define RECORD "/var/lib/lima-guestagent/grub"
#define ENTRY "/boot/loader/entries/1-6.1.conf"
#define DEFAULTS "GRUB_TIMEOUT=5\nGRUB_CMDLINE_LINUX=\"console=tty0\"\nGRUB_CMDLINE_LINUX_DEFAULT=\"quiet psi=0\"\n"
#define CFG(timeout, args) "set timeout=" timeout "\nlinux /vmlinuz root=/a ro " args "\n"
#define PLAIN_CFG CFG("5", "console=tty0 quiet psi=0")
#define TUNED_CFG CFG("0", "console=tty0 quiet psi=0 lima.begin console=ttyS0 panic=-1 init_on_free=1 nomodeset psi=2 lima.end")

static void folder(const char *path)
{
	struct err e;

	assert_int_equal(su_mkdirs(&su, path, 0755, &e), 0);
}

/* drop_ins: as Debian has changed it. */
static void put_mkconfig(const char *path, bool drop_ins)
{
	char text[1000];

	snprintf(text, sizeof(text),
		 "#!/bin/sh\nset -e\necho >>%s/runs\n[ ! -e %s/broken ] || { : >\"$2.new\"; exit 3; }\n. %s/etc/default/grub\n"
		 "%s"
		 "printf 'set timeout=%%s\\nlinux /vmlinuz root=/a ro %%s %%s\\n' \"$GRUB_TIMEOUT\" \"$GRUB_CMDLINE_LINUX\" "
		 "\"$GRUB_CMDLINE_LINUX_DEFAULT\" >\"$2\"\n%s",
		 root, root, root,
		 drop_ins ? "for x in ${0%/usr/*}/etc/default/grub.d/*.cfg; do if [ -e $x ]; then . $x; fi; done\n" : "",
		 strstr(path, "grub2") ? "[ -z \"$GRUB_ENABLE_BLSCFG\" ] || echo blscfg >>\"$2\"\n" : "");
	put(path, text, 0755);
}

static void debian(void)
{
	folder("/etc/default/grub.d");
	folder("/boot/grub");
	put("/etc/default/grub", DEFAULTS, 0644);
	put("/boot/grub/grub.cfg", PLAIN_CFG, 0444);
	put_mkconfig("/usr/sbin/grub-mkconfig", true);
}

static void say(bool args, bool menu)
{
	settings.count = 0;
	set("init", "cloud");
	set("tuning.kernelArgs", args ? "true" : "false");
	set("tuning.skipBootMenu", menu ? "true" : "false");
	if (!args)
		return;
	set("loader.args", "console=ttyS0 quiet psi=1 panic=-1 init_on_free=1");
	set("loader.lastArgs", "nomodeset psi=2");
}

/* How often GRUB's program has run so far. */
static size_t runs(void)
{
	return strlen(text_of("/runs"));
}

static void tune(void)
{
	tuning_settled(&su);
	assert_string_equal(text_of(RUN_DIR "/setup.warnings"), "");
}

static void is_gone(const char *path)
{
	assert_int_equal(access(at(path), F_OK), -1);
}

static void test_debian(void **state)
{
	(void)state;
	debian();
	say(true, true);
	tune();
	assert_string_equal(text_of("/boot/grub/grub.cfg"), TUNED_CFG);
	assert_int_equal(mode_of("/boot/grub/grub.cfg"), 0444);
	assert_string_equal(text_of("/etc/default/grub"), DEFAULTS);
	assert_memory_equal(text_of(DROP_IN), "# Written by lima-guestagent", 28);
	assert_int_equal(runs(), 1);
	tune();
	assert_int_equal(runs(), 1);
	/* Somebody has taken it away. */
	assert_int_equal(unlink(at(DROP_IN)), 0);
	put("/boot/grub/grub.cfg", PLAIN_CFG, 0444);
	tune();
	assert_string_equal(text_of("/boot/grub/grub.cfg"), TUNED_CFG);
	/* Other words: made anew. */
	settings.item[4].value = "one";
	tune();
	assert_int_equal(runs(), 3);
	assert_non_null(strstr(text_of("/boot/grub/grub.cfg"), " init_on_free=1 one lima.end\n"));
	/* Not asked for any more. */
	say(false, false);
	tune();
	assert_int_equal(runs(), 4);
	assert_string_equal(text_of("/boot/grub/grub.cfg"), PLAIN_CFG);
	is_gone(DROP_IN);
	is_gone(RECORD);
	tune();
	assert_int_equal(runs(), 4);
}

static void test_each_by_itself(void **state)
{
	(void)state;
	debian();
	say(false, true);
	tune();
	assert_string_equal(text_of("/boot/grub/grub.cfg"), CFG("0", "console=tty0 quiet psi=0"));
	say(true, false);
	tune();
	assert_memory_equal(text_of("/boot/grub/grub.cfg"), "set timeout=5\n", 14);
	/* Where the guest says everything itself there is nothing to add. */
	put("/etc/default/grub", "GRUB_TIMEOUT=5\nGRUB_CMDLINE_LINUX=\"a b\"\n", 0644);
	settings.item[3].value = "a=1";
	settings.item[4].value = "";
	tune();
	assert_string_equal(text_of("/boot/grub/grub.cfg"), CFG("5", "a b "));
}

static void test_a_guest_that_asks_nothing_is_left_alone(void **state)
{
	(void)state;
	debian();
	say(false, false);
	tune();
	assert_int_equal(runs(), 0);
	is_gone("/var/lib");
	/* One without GRUB is not given any. */
	assert_int_equal(unlink(at("/boot/grub/grub.cfg")), 0);
	assert_false(grub_is(&su));
	say(true, true);
	tune();
	assert_int_equal(runs(), 0);
	is_gone("/var/lib");
	is_gone(DROP_IN);
}

/* What failed or was broken off is done at the next boot. */
static void test_failures(void **state)
{
	(void)state;
	debian();
	say(true, true);
	put("/broken", "", 0644);
	tuning_settled(&su);
	assert_string_equal(text_of(RUN_DIR "/setup.warnings") + strlen("tuning.kernelArgs: ") + strlen(root),
			    "/usr/sbin/grub-mkconfig ended with exit code 3\n");
	assert_string_equal(text_of("/boot/grub/grub.cfg"), PLAIN_CFG);
	is_gone("/boot/grub/grub.cfg.lima");
	is_gone("/boot/grub/grub.cfg.lima.new");
	assert_int_equal(unlink(at("/broken")) | unlink(at(RUN_DIR "/setup.warnings")), 0);
	tune();
	assert_string_equal(text_of("/boot/grub/grub.cfg"), TUNED_CFG);
	assert_int_equal(runs(), 2);
	put("/broken", "", 0644);
	say(false, false);
	tuning_settled(&su);
	assert_string_equal(text_of("/boot/grub/grub.cfg"), TUNED_CFG);
	assert_int_equal(unlink(at("/broken")) | unlink(at(RUN_DIR "/setup.warnings")), 0);
	tune();
	assert_string_equal(text_of("/boot/grub/grub.cfg"), PLAIN_CFG);
	is_gone(RECORD);
}

/* Else grub.cfg would be another file after each boot, and the host's copy of the kernel always an old one. */
static void test_without_a_record_nothing_is_made(void **state)
{
	(void)state;
	debian();
	folder(RECORD);
	say(true, true);
	tuning_settled(&su);
	assert_non_null(strstr(text_of(RUN_DIR "/setup.warnings"), RECORD));
	assert_int_equal(runs(), 0);
}

/* GRUB as it comes reads one file only. */
static void test_a_block_of_lines(void **state)
{
	(void)state;
	debian();
	put_mkconfig("/usr/sbin/grub-mkconfig", false);
	say(true, true);
	tune();
	assert_string_equal(text_of("/boot/grub/grub.cfg"), TUNED_CFG);
	assert_memory_equal(text_of("/etc/default/grub"), DEFAULTS "# lima: begin", strlen(DEFAULTS "# lima: begin"));
	is_gone(DROP_IN);
	tune();
	assert_int_equal(runs(), 1);
	say(false, false);
	tune();
	assert_string_equal(text_of("/boot/grub/grub.cfg"), PLAIN_CFG);
	assert_string_equal(text_of("/etc/default/grub"), DEFAULTS);
	put("/etc/default/grub", "no_newline=1", 0644);
	tune();
	assert_string_equal(text_of("/etc/default/grub"), "no_newline=1");
	assert_int_equal(runs(), 2);
}

#define FEDORA DEFAULTS "GRUB_ENABLE_BLSCFG=true\n"
#define OURS "lima.begin console=ttyS0 quiet panic=-1 init_on_free=1 nomodeset psi=2 lima.end"

static void test_fedora(void **state)
{
	static const char entry[] = "title Fedora\nversion 6.1\noptions root=UUID=1 ro psi=0 rhgb\ngrub_users $grub_users\n";
	struct stat first, second;

	(void)state;
	folder("/etc/default");
	folder("/boot/grub2");
	folder("/boot/loader/entries");
	put("/etc/default/grub", FEDORA, 0644);
	put("/boot/grub2/grub.cfg", PLAIN_CFG "blscfg\n", 0600);
	put_mkconfig("/usr/sbin/grub2-mkconfig", false);
	put(ENTRY, entry, 0600);
	put("/boot/loader/entries/2-rescue.conf", "options $kernelopts\noptions more", 0644);
	say(true, true);
	tune();
	/* The words stand where this GRUB reads them, and only there. */
	assert_string_equal(text_of(ENTRY), "title Fedora\nversion 6.1\noptions root=UUID=1 ro psi=0 rhgb " OURS
			    "\ngrub_users $grub_users\n");
	assert_int_equal(mode_of(ENTRY), 0600);
	assert_string_equal(text_of("/boot/loader/entries/2-rescue.conf"), "options $kernelopts\noptions more "
			    "lima.begin console=ttyS0 quiet psi=1 panic=-1 init_on_free=1 nomodeset psi=2 lima.end");
	assert_string_equal(text_of("/boot/grub2/grub.cfg"), CFG("0", "console=tty0 quiet psi=0") "blscfg\n");
	assert_int_equal(stat(at(ENTRY), &first), 0);
	tune();
	assert_int_equal(runs(), 1);
	assert_int_equal(stat(at(ENTRY), &second), 0);
	assert_int_equal(first.st_ino, second.st_ino);
	/* A kernel that came later, with what the running one was told; other words. */
	put(ENTRY, "options root=UUID=1 " OURS " extra\n", 0644);
	settings.item[4].value = "";
	tune();
	assert_string_equal(text_of(ENTRY), "options root=UUID=1 extra lima.begin console=ttyS0 quiet psi=1 panic=-1 "
			    "init_on_free=1 lima.end\n");
	assert_int_equal(runs(), 1);
	put(ENTRY, "options root=UUID=1 " OURS " extra\n", 0644);
	say(false, false);
	tune();
	assert_string_equal(text_of(ENTRY), "options root=UUID=1 extra\n");
	assert_string_equal(text_of("/boot/loader/entries/2-rescue.conf"), "options $kernelopts\noptions more");
	assert_string_equal(text_of("/boot/grub2/grub.cfg"), PLAIN_CFG "blscfg\n");
	assert_string_equal(text_of("/etc/default/grub"), FEDORA);
}

static void test_words_that_mean_something_to_grub(void **state)
{
	static const char *const odd[] = { "memmap=1$2", "a;b", "a&b", "a|b", "$(x)", "`x`", "a\\b", "a<b", "{a}", "#a", "a'b" };

	(void)state;
	for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++)
		assert_false(grub_is_plain(odd[i], strlen(odd[i])));
	assert_true(grub_is_plain("systemd.unit=a@b.service,c:d/e+f%g~", 35));
	debian();
	say(true, false);
	settings.item[4].value = "one a;b two";
	tuning_settled(&su);
	assert_non_null(strstr(text_of("/boot/grub/grub.cfg"), " one two lima.end\n"));
	assert_string_equal(text_of(RUN_DIR "/setup.warnings"),
			    "guest.kernelArgs: a;b is not given to GRUB, to which some of its characters are special\n");
}

static void test_check(void **state)
{
	(void)state;
	debian();
	folder("/proc");
	put("/proc/cmdline", "root=/a quiet\n", 0444);
	say(true, true);
	assert_string_equal(tuning_line(&su, "tuning.skipBootMenu"),
			    "tuning.skipBootMenu: NOT in force: /boot/grub/grub.cfg says set timeout=5");
	assert_string_equal(tuning_line(&su, "tuning.kernelArgs"),
			    "tuning.kernelArgs: NOT in force: the kernel was started without console=ttyS0");
	tune();
	assert_string_equal(tuning_line(&su, "tuning.skipBootMenu"), "tuning.skipBootMenu: in force");
	put("/proc/cmdline", "root=/a quiet psi=0 console=ttyS0,9 panic=1 init_on_free=1 nomodeset psi=2\n", 0444);
	assert_string_equal(tuning_line(&su, "tuning.kernelArgs"), "tuning.kernelArgs: in force");
	put("/proc/cmdline", "root=/a quiet psi=0 console=ttyS0,9 panic=1 init_on_free=1 nomodeset\n", 0444);
	assert_string_equal(tuning_line(&su, "tuning.kernelArgs"),
			    "tuning.kernelArgs: NOT in force: the kernel was started without psi=2");
	say(false, false);
	assert_string_equal(tuning_line(&su, "tuning.kernelArgs"), "tuning.kernelArgs: off");
}

#define T(fn) cmocka_unit_test_setup_teardown(fn, begin, end)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		T(test_debian),
		T(test_each_by_itself),
		T(test_a_guest_that_asks_nothing_is_left_alone),
		T(test_failures),
		T(test_without_a_record_nothing_is_made),
		T(test_a_block_of_lines),
		T(test_fedora),
		T(test_words_that_mean_something_to_grub),
		T(test_check),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
