/* Steps of `agent setup` on a folder that stands for the guest's root. */
#include <signal.h>
#include <stdio.h>

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

/* --- programs --- */

static void test_a_failed_program_says_why(void **state)
{
	static const struct {
		const char *script, *message;
	} rows[] = {
		{ "exit 3", "sh ended with exit code 3" },
		{ "echo first >&2; echo 'the disk is in use' >&2; exit 1", "sh ended with exit code 1: the disk is in use" },
		{ "head -c 9000 /dev/zero | tr '\\0' x >&2; printf '\\nlast' >&2; exit 1", "sh ended with exit code 1: last" },
		{ "echo last words >&2; kill -9 $$", "sh was killed by signal 9: last words" },
		{ "echo by name >/dev/stderr; exit 1", "sh ended with exit code 1: by name" },
		{ "echo above >&2; exec 2>&-; exit 1", "sh ended with exit code 1: above" },
	};
	struct err e = { 0 };

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		const char *const argv[] = { "sh", "-c", rows[i].script, NULL };

		assert_int_equal(su_run(argv, &e), -1);
		assert_string_equal(e.msg, rows[i].message);
	}
	assert_int_equal(su_run((const char *const[]){ "sh", "-c", "echo noise >&2", NULL }, &e), 0);
}

/* What it leaves running has its standard error still. */
static void test_who_lives_on_is_not_waited_for(void **state)
{
	const char *const argv[] = { "sh", "-c", "sleep 60 & echo $! >&2; exit 1", NULL };
	struct err e = { 0 };
	pid_t pid;

	(void)state;
	assert_int_equal(su_run(argv, &e), -1);
	assert_int_equal(sscanf(e.msg, "sh ended with exit code 1: %d", &pid), 1);
	assert_int_equal(kill(pid, SIGKILL), 0);
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

/* The host's proxies, at a boot with them and the next one without. */
static void test_environment_goes_with_its_settings(void **state)
{
	struct err e;

	(void)state;
	put("/etc/environment", "MINE=1\n", 0644);
	set("env.https_proxy", "http://10.0.2.2:3128");
	assert_int_equal(setup_environment(&su, &e), 0);
	assert_non_null(strstr(text_of("/etc/environment"), "https_proxy=http://10.0.2.2:3128\n"));
	assert_string_equal(text_of(RUN_DIR "/services.env"), "https_proxy='http://10.0.2.2:3128'\n");
	settings.count = 0;
	assert_int_equal(setup_environment(&su, &e), 0);
	assert_string_equal(text_of("/etc/environment"), "MINE=1\n");
	assert_string_equal(text_of(RUN_DIR "/services.env"), "");
	assert_string_equal(text_of(RUN_DIR "/environment"), "");
	assert_null(strstr(text_of(RUN_DIR "/profile"), "proxy"));
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

/* Into the user's own file, what stands there already stays. */
static void test_ssh_keys_are_added_once(void **state)
{
	struct stat st;
	struct err e;

	(void)state;
	assert_int_equal(chmod(root, 0755), 0);
	set("user.name", "alice");
	set("user.uid", "1000");
	set("user.home", "/home/alice.linux");
	set("ssh.key.00", "ssh-ed25519 AAAA lima");
	set("ssh.key.01", "ssh-rsa BBBB");
	assert_int_equal(setup_user(&su, &e), 0);
	for (int twice = 0; twice < 2; twice++) {
		assert_int_equal(setup_ssh_keys(&su, &e), 0);
		assert_string_equal(text_of("/home/alice.linux/.ssh/authorized_keys"), "ssh-ed25519 AAAA lima\nssh-rsa BBBB\n");
	}
	assert_int_equal(mode_of("/home/alice.linux/.ssh"), 0700);
	assert_int_equal(mode_of("/home/alice.linux/.ssh/authorized_keys"), 0600);
	assert_int_equal(stat(at("/home/alice.linux/.ssh/authorized_keys"), &st), 0);
	assert_int_equal(st.st_uid, geteuid() ? geteuid() : 1000);
	put("/home/alice.linux/.ssh/authorized_keys", "ssh-rsa BBBB\nssh-rsa mine", 0644);
	assert_int_equal(chown(at("/home/alice.linux/.ssh/authorized_keys"), st.st_uid, st.st_gid), 0);
	assert_int_equal(setup_ssh_keys(&su, &e), 0);
	assert_string_equal(text_of("/home/alice.linux/.ssh/authorized_keys"),
			    "ssh-rsa BBBB\nssh-rsa mine\nssh-ed25519 AAAA lima\n");
	assert_int_equal(mode_of("/home/alice.linux/.ssh/authorized_keys"), 0644);
}

/* We are root, the folder is the user's: a link there must not lead us to what is not. */
static void test_ssh_keys_go_nowhere_else(void **state)
{
	struct err e;

	(void)state;
	if (geteuid() != 0)
		skip();
	assert_int_equal(chmod(root, 0755), 0);
	put("/etc/secret", "root's\n", 0644);
	set("user.name", "alice");
	set("user.uid", "1000");
	set("user.home", "/home/alice.linux");
	set("ssh.key.00", "ssh-ed25519 AAAA lima");
	assert_int_equal(setup_user(&su, &e), 0);
	assert_int_equal(mkdir(at("/home/alice.linux/.ssh"), 0700), 0);
	assert_int_equal(chown(at("/home/alice.linux/.ssh"), 1000, 1000), 0);
	assert_int_equal(symlink(at("/etc/secret"), at("/home/alice.linux/.ssh/authorized_keys")), 0);
	assert_int_equal(setup_ssh_keys(&su, &e), -1);
	assert_non_null(strstr(e.msg, "Permission denied"));
	assert_string_equal(text_of("/etc/secret"), "root's\n");
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

/* A clone: the keys go first and the id is written last; an instance that is none keeps all. */
static void test_identity(void **state)
{
	static const char id[] = "0123456789abcdef0123456789abcdef";
	struct err e;
	struct stat st;

	(void)state;
	assert_int_equal(su_mkdirs(&su, "/etc/ssh", 0755, &e), 0);
	put("/etc/machine-id", "of another\n", 0444);
	put("/etc/ssh/ssh_host_ed25519_key", "secret", 0600);
	put("/etc/ssh/ssh_host_ed25519_key.pub", "public", 0644);
	put("/etc/ssh/ssh_config", "", 0644);
	assert_int_equal(symlink("../../../etc/machine-id", (su_mkdirs(&su, "/var/lib/dbus", 0755, &e), at("/var/lib/dbus/machine-id"))), 0);
	assert_int_equal(setup_identity(&su, &e), 0);
	assert_int_equal(access(at("/etc/ssh/ssh_host_ed25519_key"), F_OK), 0);
	set("machineId", id);
	assert_int_equal(setup_identity(&su, &e), 0);
	assert_string_equal(text_of("/etc/machine-id"), "0123456789abcdef0123456789abcdef\n");
	assert_int_equal(access(at("/etc/ssh/ssh_host_ed25519_key"), F_OK), -1);
	assert_int_equal(access(at("/etc/ssh/ssh_host_ed25519_key.pub"), F_OK), -1);
	assert_int_equal(access(at("/etc/ssh/ssh_config"), F_OK), 0);
	assert_int_equal(lstat(at("/var/lib/dbus/machine-id"), &st), 0);
	assert_true(S_ISLNK(st.st_mode));
	/* It is what it is told to be: the keys it has made since are its own. */
	put("/etc/ssh/ssh_host_ed25519_key", "mine", 0600);
	assert_int_equal(setup_identity(&su, &e), 0);
	assert_string_equal(text_of("/etc/ssh/ssh_host_ed25519_key"), "mine");
	settings.count = 0;
	set("machineId", "0123; reboot");
	assert_int_equal(setup_identity(&su, &e), -1);
	/* With cloud-init the keys are its business. */
	settings.count = 0;
	set("init", "cloud");
	set("machineId", "fedcba9876543210fedcba9876543210");
	assert_int_equal(setup_identity(&su, &e), 0);
	assert_string_equal(text_of("/etc/machine-id"), "fedcba9876543210fedcba9876543210\n");
	assert_string_equal(text_of("/etc/ssh/ssh_host_ed25519_key"), "mine");
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
		T(test_a_failed_program_says_why),
		T(test_who_lives_on_is_not_waited_for),
		T(test_identity),
		T(test_hostname),
		T(test_bad_hostname_is_refused),
		T(test_environment_is_quoted),
		T(test_environment_goes_with_its_settings),
		T(test_root_needs_no_account),
		T(test_user_comes_before_one_with_the_same_number),
		T(test_settings_win_over_an_entry_of_that_name),
		T(test_ssh_keys_are_added_once),
		T(test_ssh_keys_go_nowhere_else),
		T(test_sudo_can_be_refused),
		T(test_names_that_would_say_more_are_refused),
		T(test_engine_is_linked_where_nothing_is),
	};

	return cmocka_run_group_tests_name("setup", tests, NULL, NULL);
}
