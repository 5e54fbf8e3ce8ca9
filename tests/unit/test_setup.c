/* Steps of `agent setup` on a folder that stands for the guest's root. */
#include "guestagent/trouble.h"
#include "tests/unit/setup_root.h"

/* --- files --- */

static void test_write_leaves_an_equal_file_alone(void **state)
{
	struct stat before, after;

	(void)state;
	put("/etc/motd", "hello\n", 0644);
	assert_int_equal(stat(at("/etc/motd"), &before), 0);
	put("/etc/motd", "hello\n", 0644);
	assert_int_equal(stat(at("/etc/motd"), &after), 0);
	assert_int_equal(before.st_ino, after.st_ino);
	put("/etc/motd", "hello\n", 0600);
	assert_int_equal(mode_of("/etc/motd"), 0600);
}

static void test_block_keeps_what_others_wrote(void **state)
{
	struct err e;

	(void)state;
	put("/etc/hosts", "192.0.2.1 mine", 0600);
	assert_int_equal(su_block(&su, "/etc/hosts", "127.0.0.1 localhost\n", &e), 0);
	assert_non_null(strstr(text_of("/etc/hosts"), "192.0.2.1 mine\n# lima: begin"));
	put("/etc/hosts", text_of("/etc/hosts"), 0600);
	assert_int_equal(su_block(&su, "/etc/hosts", "127.0.0.1 other\n", &e), 0);
	assert_null(strstr(text_of("/etc/hosts"), "localhost"));
	assert_non_null(strstr(text_of("/etc/hosts"), "127.0.0.1 other\n# lima: end\n"));
	assert_int_equal(mode_of("/etc/hosts"), 0600);
	assert_int_equal(su_block(&su, "/etc/hosts", "", &e), 0);
	assert_string_equal(text_of("/etc/hosts"), "192.0.2.1 mine\n");
}

static void test_block_of_nothing_makes_no_file(void **state)
{
	struct err e;

	(void)state;
	assert_int_equal(su_block(&su, "/etc/environment", "", &e), 0);
	assert_int_equal(access(at("/etc/environment"), F_OK), -1);
}

/* A file that need not be changed is not written: a link in its place stays one. */
static void test_block_that_is_there_changes_nothing(void **state)
{
	struct err e;
	struct stat st;

	(void)state;
	put("/etc/resolv.real", "nameserver 192.0.2.1\n", 0644);
	assert_int_equal(symlink("resolv.real", at("/etc/resolv.conf")), 0);
	assert_int_equal(su_block(&su, "/etc/resolv.conf", "", &e), 0);
	assert_int_equal(lstat(at("/etc/resolv.conf"), &st), 0);
	assert_true(S_ISLNK(st.st_mode));
}

static void test_warning_is_one_line(void **state)
{
	(void)state;
	su_warn(&su, "a %s", "b\nc");
	su_warn(&su, "d");
	assert_string_equal(text_of(RUN_DIR "/setup.warnings"), "a b c\nd\n");
}

static void test_trouble_is_one_line_that_fits(void **state)
{
	char text[1000];

	(void)state;
	trouble_note(&su, "disk data", "a %s", "b\nc");
	assert_string_equal(text_of(RUN_DIR "/trouble/disk data"), "a b c\n");
	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	trouble_note(&su, "disk data", "%s", text);
	assert_int_equal(strlen(text_of(RUN_DIR "/trouble/disk data")), 512);
	set("disk.00.name", "none");
	set("disk.00.serial", "no such number");
	assert_int_equal(setup_disks(&su, NULL), 0);
	assert_string_equal(text_of(RUN_DIR "/trouble/disk none"), "the machine has no disk with the serial number no such number\n");
}

/* --- host name and environment --- */

static void test_hostname(void **state)
{
	struct err e;

	(void)state;
	set("hostname", "lima-demo");
	assert_int_equal(setup_hostname(&su, &e), 0);
	assert_string_equal(text_of("/etc/hostname"), "lima-demo\n");
	assert_non_null(strstr(text_of("/etc/hosts"), "127.0.1.1 lima-demo\n10.0.2.2 host.lima.internal\n"));
}

static void test_bad_hostname_is_refused(void **state)
{
	struct err e;

	(void)state;
	set("hostname", "a b\nroot:");
	assert_int_equal(setup_hostname(&su, &e), -1);
	assert_int_equal(access(at("/etc/hostname"), F_OK), -1);
}

static void test_environment_is_quoted(void **state)
{
	struct err e;

	(void)state;
	set("env.FOO", "it's $HOME");
	set("env.LINES", "a\nb");
	set("env.1BAD", "x");
	assert_int_equal(setup_environment(&su, &e), 0);
	assert_string_equal(text_of(RUN_DIR "/environment"), "FOO=it's $HOME\n");
	assert_non_null(strstr(text_of("/etc/environment"), "FOO=it's $HOME\n"));
	assert_non_null(strstr(text_of(RUN_DIR "/profile"), "export FOO='it'\\''s $HOME'\nexport LINES='a\nb'\n"));
	assert_null(strstr(text_of(RUN_DIR "/profile"), "BAD"));
	assert_non_null(strstr(text_of(RUN_DIR "/setup.warnings"), "1BAD"));
	assert_non_null(strstr(text_of("/etc/profile.d/90-lima.sh"), RUN_DIR "/profile"));
}

/* --- user --- */

static void test_root_needs_no_account(void **state)
{
	struct err e;

	(void)state;
	set("user.name", "root");
	assert_int_equal(setup_user(&su, &e), 0);
	assert_string_equal(text_of("/etc/passwd"), PASSWD);
	assert_non_null(strstr(text_of("/etc/group"), "\ndocker:x:102:\n"));
	assert_int_equal(access(at("/etc/sudoers.d/90-lima"), F_OK), -1);
}

static void test_user_comes_before_one_with_the_same_number(void **state)
{
	struct stat st;
	struct err e;

	(void)state;
	set("user.name", "alice");
	set("user.uid", "1000");
	set("user.comment", "Alice L.");
	for (int twice = 0; twice < 2; twice++) {
		assert_int_equal(setup_user(&su, &e), 0);
		assert_string_equal(text_of("/etc/passwd"),
				    "root:x:0:0:root:/root:/bin/sh\n"
				    "alice:x:1000:1000:Alice L.:/home/alice.linux:/bin/sh\n"
				    "mail:x:8:12:mail:/var/mail:/sbin/nologin\n"
				    "quicksand:x:1000:1000::/home/quicksand:/bin/sh\n");
		assert_string_equal(text_of("/etc/group"), "root:x:0:root\ndocker:x:102:alice\nwheel:x:10:root\n"
							   "quicksand:x:1000:\n");
		assert_string_equal(text_of("/etc/shadow"), "root:*::0:::::\nalice:*::0:::::\n");
		assert_string_equal(text_of("/etc/sudoers.d/90-lima"), "alice ALL=(ALL:ALL) NOPASSWD: ALL\n");
		assert_int_equal(mode_of("/etc/sudoers.d/90-lima"), 0440);
		assert_int_equal(mode_of("/etc/shadow"), 0640);
		assert_int_equal(mode_of("/home/alice.linux"), 0700);
		assert_int_equal(stat(at("/home/alice.linux"), &st), 0);
		assert_int_equal(st.st_uid, geteuid() ? geteuid() : 1000);
	}
}

static void test_settings_win_over_an_entry_of_that_name(void **state)
{
	struct err e;

	(void)state;
	put("/etc/group", GROUP "docker:x:77:bob", 0644);
	put("/etc/shadow", "root:*::0:::::\nquicksand:$6$x:1:0:::::\n", 0640);
	set("user.name", "quicksand");
	set("user.uid", "501");
	set("user.gid", "20");
	set("user.home", "/home/q");
	set("user.shell", "/bin/ash");
	assert_int_equal(setup_user(&su, &e), 0);
	assert_non_null(strstr(text_of("/etc/passwd"), "nologin\nquicksand:x:501:20::/home/q:/bin/ash\n"));
	assert_null(strstr(text_of("/etc/passwd"), ":1000:"));
	assert_non_null(strstr(text_of("/etc/group"), "quicksand:x:20:\n"));
	assert_non_null(strstr(text_of("/etc/group"), "docker:x:77:bob,quicksand\n"));
	assert_non_null(strstr(text_of("/etc/shadow"), "quicksand:$6$x:"));
}

static void test_sudo_can_be_refused(void **state)
{
	struct err e;

	(void)state;
	put("/etc/sudoers.d/90-lima", "alice ALL=(ALL:ALL) NOPASSWD: ALL\n", 0440);
	set("user.name", "alice");
	set("user.sudo", "false");
	assert_int_equal(setup_user(&su, &e), 0);
	assert_int_equal(access(at("/etc/sudoers.d/90-lima"), F_OK), -1);
}

static void test_names_that_would_say_more_are_refused(void **state)
{
	static const char *const names[] = { "", "a:b", "a b", "ALL,x", "-a", "1", "a\nroot2:x:0:0" };
	struct err e;

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		settings.count = 0;
		set("user.name", names[i]);
		assert_int_equal(setup_user(&su, &e), -1);
	}
	settings.count = 0;
	set("user.name", "alice");
	set("user.comment", "x\nroot2:x:0:0::/:/bin/sh");
	assert_int_equal(setup_user(&su, &e), -1);
	assert_string_equal(text_of("/etc/passwd"), PASSWD);
}

/* --- engine --- */

static void make_engine(void)
{
	static const char *const folders[] = { "/engine/lib64", "/engine/lib/x86_64-linux-gnu", "/engine/lib/systemd",
					       "/engine/usr/lib/x86_64-linux-gnu", "/engine/usr/bin",
					       "/engine/usr/sbin" };
	char path[200];
	struct err e;

	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
		snprintf(path, sizeof(path), RUN_DIR "%s", folders[i]);
		assert_int_equal(su_mkdirs(&su, path, 0755, &e), 0);
	}
	put(RUN_DIR "/engine/usr/bin/containerd", "c", 0755);
	put(RUN_DIR "/engine/usr/sbin/dockerd", "d", 0755);
	put(RUN_DIR "/engine/usr/sbin/iptables", "i", 0755);
}

static const char *target_of(const char *path)
{
	static char text[300];
	ssize_t n = readlink(at(path), text, sizeof(text) - 1);

	text[n > 0 ? n : 0] = '\0';
	return text;
}

static void test_engine_is_linked_where_nothing_is(void **state)
{
	struct err e;

	(void)state;
	make_engine();
	put("/usr/sbin/iptables", "the guest's own", 0755);
	assert_int_equal(symlink(RUN_DIR "/engine/usr/bin/gone", at("/usr/bin/gone")), 0);
	assert_int_equal(symlink("/somewhere/else", at("/usr/bin/other")), 0);
	set("engine", "true");
	for (int twice = 0; twice < 2; twice++) {
		assert_int_equal(engine_link(&su, &e), 0);
		assert_string_equal(target_of("/lib64"), RUN_DIR "/engine/lib64");
		assert_string_equal(target_of("/lib/x86_64-linux-gnu"), RUN_DIR "/engine/lib/x86_64-linux-gnu");
		assert_string_equal(target_of("/usr/bin/containerd"), RUN_DIR "/engine/usr/bin/containerd");
		assert_string_equal(target_of("/usr/sbin/dockerd"), RUN_DIR "/engine/usr/sbin/dockerd");
		assert_string_equal(text_of("/usr/sbin/iptables"), "the guest's own");
		assert_string_equal(target_of("/lib/systemd"), "");
		assert_string_equal(target_of("/usr/bin/gone"), "");
		assert_string_equal(target_of("/usr/bin/other"), "/somewhere/else");
	}
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, begin, end)
	static const struct CMUnitTest tests[] = {
		T(test_write_leaves_an_equal_file_alone),
		T(test_block_keeps_what_others_wrote),
		T(test_block_of_nothing_makes_no_file),
		T(test_block_that_is_there_changes_nothing),
		T(test_warning_is_one_line),
		T(test_trouble_is_one_line_that_fits),
		T(test_hostname),
		T(test_bad_hostname_is_refused),
		T(test_environment_is_quoted),
		T(test_root_needs_no_account),
		T(test_user_comes_before_one_with_the_same_number),
		T(test_settings_win_over_an_entry_of_that_name),
		T(test_sudo_can_be_refused),
		T(test_names_that_would_say_more_are_refused),
		T(test_engine_is_linked_where_nothing_is),
	};

	return cmocka_run_group_tests_name("setup", tests, NULL, NULL);
}
