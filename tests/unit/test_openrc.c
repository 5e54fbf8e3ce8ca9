/* A guest that keeps OpenRC: our services, and each row of the tuning table, on a folder that stands for its root. Files
 * are as Alpine's cloud image and the wheel's image have them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "guestagent/conf_edit.h"
#include "guestagent/openrc.h"
#include "guestagent/setup.h"
#include "guestagent/tuning.h"
#include "limactl-c/base/jsonx.h"
#include "tests/unit/tuning_line.h"

static char root[64];
static struct settings settings;
static struct setup su = { &settings, root };

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *at)
{
	(void)st;
	(void)kind;
	(void)at;
	return remove(path);
}

static const char *at(const char *path)
{
	static char full[4][SU_PATH_MAX];
	static int i;

	i = (i + 1) % 4;
	return su_path(&su, path, full[i]);
}

static void put(const char *path, const char *text)
{
	char folder[200];
	struct err e;

	snprintf(folder, sizeof(folder), "%.*s", (int)(strrchr(path, '/') - path), path);
	assert_int_equal(su_mkdirs(&su, folder, 0755, &e), 0);
	assert_int_equal(su_write(&su, path, text, 0644, &e), 0);
}

static const char *text_of(const char *path)
{
	static struct buf b[2] = { BUF_INIT(SU_FILE_MAX), BUF_INIT(SU_FILE_MAX) };
	static int i;
	struct err e;

	i = !i;
	buf_free(&b[i]);
	assert_int_equal(su_read(&su, path, &b[i], &e), 0);
	return b[i].data;
}

static bool is_there(const char *path)
{
	struct stat st;

	return lstat(at(path), &st) == 0;
}

static void set(const char *key, const char *value)
{
	for (size_t i = 0; i < settings.count; i++)
		if (strcmp(settings.item[i].key, key) == 0) {
			settings.item[i].value = value;
			return;
		}
	settings.item[settings.count++] = (struct setting){ key, value };
}

static int begin(void **state)
{
	static const char *const folders[] = { "/etc/init.d", "/etc/conf.d", "/etc/runlevels/sysinit",
					       "/etc/runlevels/boot", "/etc/runlevels/default", RUN_DIR };
	struct err e;

	(void)state;
	umask(022);
	snprintf(root, sizeof(root), "/tmp/openrc.XXXXXX");
	assert_non_null(mkdtemp(root));
	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++)
		assert_int_equal(su_mkdirs(&su, folders[i], 0755, &e), 0);
	put("/sbin/openrc-run", "");
	settings.count = 0;
	set("init", "openrc");
	return 0;
}

static int end(void **state)
{
	(void)state;
	return nftw(root, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static void configure(void)
{
	struct err e;

	if (openrc_configure(&su, &e) < 0)
		fail_msg("%s", e.msg);
	assert_string_equal(text_of(RUN_DIR "/setup.warnings"), "");
}

/* With the setting the file becomes this, also the second time; without it is what it was. */
static void check_row(const char *path, const char *before, const char *key, const char *value, const char *after)
{
	struct stat first, second;

	put(path, before);
	set(key, value);
	configure();
	assert_string_equal(text_of(path), after);
	assert_int_equal(stat(at(path), &first), 0);
	configure();
	assert_int_equal(stat(at(path), &second), 0);
	assert_int_equal(first.st_ino, second.st_ino);
	set(key, "0");
	configure();
	assert_string_equal(text_of(path), before);
	set(key, value);
	configure();
	assert_string_equal(text_of(path), after);
}

/* --- services --- */

static const char *target_of(const char *path)
{
	static char text[300];
	ssize_t n = readlink(at(path), text, sizeof(text) - 1);

	text[n > 0 ? n : 0] = '\0';
	return text;
}

static void test_services_come_and_go(void **state)
{
	(void)state;
	set("docker", "true");
	for (int twice = 0; twice < 2; twice++) {
		configure();
		assert_string_equal(target_of("/etc/runlevels/sysinit/lima-setup"), "/etc/init.d/lima-setup");
		assert_string_equal(target_of("/etc/runlevels/default/lima-agent"), "/etc/init.d/lima-agent");
		assert_string_equal(target_of("/etc/runlevels/default/lima-dockerd"), "/etc/init.d/lima-dockerd");
	}
	assert_non_null(strstr(text_of("/etc/init.d/lima-setup"), RUN_DIR "/agent setup --early\n"));
	assert_non_null(strstr(text_of("/etc/init.d/lima-agent"), "command_args=\"daemon\"\n"));
	assert_non_null(strstr(text_of("/etc/init.d/lima-dockerd"), "need lima-containerd\n"));
	assert_int_equal(access(at("/etc/init.d/lima-containerd"), X_OK), 0);
	set("docker", "false");
	configure();
	assert_false(is_there("/etc/init.d/lima-dockerd"));
	assert_false(is_there("/etc/runlevels/default/lima-dockerd"));
	assert_false(is_there("/etc/runlevels/default/lima-containerd"));
	assert_true(is_there("/etc/runlevels/default/lima-agent"));
}

static void test_scripts_are_shell(void **state)
{
	static const char *const names[] = { "setup", "agent", "containerd", "dockerd" };
	char command[200];

	(void)state;
	set("docker", "true");
	configure();
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(command, sizeof(command), "sh -n %s/etc/init.d/lima-%s", root, names[i]);
		assert_int_equal(system(command), 0);
	}
}

static void test_kept_dependencies_are_forgotten_when_services_change(void **state)
{
	(void)state;
	put("/var/cache/rc/deptree", "old\n");
	configure();
	assert_false(is_there("/var/cache/rc/deptree"));
	put("/var/cache/rc/deptree", "new\n");
	configure();
	assert_true(is_there("/var/cache/rc/deptree"));
	set("docker", "true");
	configure();
	assert_false(is_there("/var/cache/rc/deptree"));
}

static void test_a_guest_without_openrc(void **state)
{
	struct err e;

	(void)state;
	assert_int_equal(unlink(at("/sbin/openrc-run")), 0);
	put("/etc/inittab", "tty1::respawn:/sbin/getty 38400 tty1\n");
	assert_int_equal(openrc_configure(&su, &e), -1);
	assert_int_equal(e.kind, ERR_NOTFOUND);
	assert_false(is_there("/etc/init.d/lima-setup"));
	assert_string_equal(text_of("/etc/inittab"), "tty1::respawn:/sbin/getty 38400 tty1\n");
}

/* --- rows --- */

static void test_syslog_ring(void **state)
{
	(void)state;
	check_row("/etc/conf.d/syslog", "# Options\nSYSLOGD_OPTS=\"-t\"\n", "tuning.syslogRing", "65536",
		  "# Options\n#lima+ SYSLOGD_OPTS=\"-t\"\nSYSLOGD_OPTS=\"-t -C64\"\n");
	check_row("/etc/conf.d/syslog", "# none\n", "tuning.syslogRing", "131072",
		  "# none\n#lima+\nSYSLOGD_OPTS=\"-t -C128\"\n");
	check_row("/etc/conf.d/syslog", "SYSLOGD_OPTS=\"-t -C64\"\n", "tuning.syslogRing", "65536",
		  "SYSLOGD_OPTS=\"-t -C64\"\n");
}

static void test_commit(void **state)
{
	(void)state;
	check_row("/etc/fstab",
		  "#UUID=1 / ext4 defaults 0 0\nUUID=1\t/\text4\trw,relatime 0 1\nUUID=2 /boot/efi vfat rw 0 2\n",
		  "tuning.commit", "60",
		  "#UUID=1 / ext4 defaults 0 0\n#lima+ UUID=1\t/\text4\trw,relatime 0 1\n"
		  "UUID=1\t/\text4\trw,relatime,commit=60 0 1\nUUID=2 /boot/efi vfat rw 0 2\n");
	check_row("/etc/fstab", "/dev/vda / ext4 commit=5,rw\n", "tuning.commit", "60",
		  "#lima+ /dev/vda / ext4 commit=5,rw\n/dev/vda / ext4 rw,commit=60\n");
	check_row("/etc/fstab", "/dev/cdrom\t/media/cdrom\tiso9660\tnoauto,ro 0 0\n", "tuning.commit", "60",
		  "/dev/cdrom\t/media/cdrom\tiso9660\tnoauto,ro 0 0\n");
}

#define INITTAB_HEAD "::sysinit:/sbin/openrc sysinit\n::wait:/sbin/openrc default\n"
#define INITTAB_TAIL "#ttyS1::respawn:/sbin/getty ttyS1\n::shutdown:/sbin/openrc shutdown\n"
#define TTY1 "tty1::respawn:/sbin/getty 38400 tty1\n"
#define TTYS0 "ttyS0::respawn:/sbin/getty -L 115200 ttyS0 vt100\n"
#define TTYS1 "ttyS1::respawn:/sbin/getty -L 115200 ttyS1 vt100\n"
#define TTYAMA0 "ttyAMA0::respawn:/sbin/getty -L 0 ttyAMA0 vt100\n"
#define OUR_END "#lima+\n::shutdown:/run/lima/agent shutdown\n"

static void test_no_getty_on_a_missing_console_and_a_clean_end(void **state)
{
	(void)state;
	put("/sys/class/tty/tty1/dev", "4:1\n");
	put("/sys/class/tty/ttyS0/type", "4\n");
	put("/sys/class/tty/ttyS1/type", "0\n");
	put("/etc/inittab", INITTAB_HEAD TTY1 TTYS0 TTYS1 TTYAMA0 INITTAB_TAIL);
	assert_non_null(strstr(tuning_line(&su, "getty"), "NOT in force"));
	for (int twice = 0; twice < 2; twice++) {
		configure();
		assert_string_equal(text_of("/etc/inittab"), INITTAB_HEAD "#lima- " TTY1 TTYS0 "#lima- " TTYS1
				    "#lima- " TTYAMA0 INITTAB_TAIL OUR_END);
	}
	assert_string_equal(tuning_line(&su, "getty"), "getty: in force");
	set("tuning.fstrimStop", "true");
	assert_string_equal(tuning_line(&su, "tuning.fstrimStop"), "tuning.fstrimStop: in force");
	/* The same disk in a machine with a screen. */
	put("/sys/bus/pci/devices/0000:00:01.0/class", "0x030000\n");
	configure();
	assert_string_equal(text_of("/etc/inittab"), INITTAB_HEAD TTY1 TTYS0 "#lima- " TTYS1 "#lima- " TTYAMA0
			    INITTAB_TAIL OUR_END);
}

#define GRUB "GRUB_DISTRIBUTOR=\"Alpine\"\nGRUB_TIMEOUT=10\nGRUB_DISABLE_SUBMENU=y\n"
#define GRUB_0 "GRUB_DISTRIBUTOR=\"Alpine\"\n#lima+ GRUB_TIMEOUT=10\nGRUB_TIMEOUT=0\nGRUB_DISABLE_SUBMENU=y\n"

static void test_boot_menu_is_skipped(void **state)
{
	(void)state;
	check_row("/etc/default/grub", GRUB, "tuning.skipBootMenu", "true", GRUB_0);
	check_row("/etc/default/grub", "GRUB_DISTRIBUTOR=x\n", "tuning.skipBootMenu", "true",
		  "GRUB_DISTRIBUTOR=x\n#lima+\nGRUB_TIMEOUT=0\n");
	check_row("/boot/grub/grub.cfg", "if [ x$feature_timeout_style = xy ] ; then\n  set timeout=10\nelse\n  set timeout=10\nfi\n",
		  "tuning.skipBootMenu", "true",
		  "if [ x$feature_timeout_style = xy ] ; then\n#lima+   set timeout=10\n  set timeout=0\nelse\n"
		  "#lima+   set timeout=10\n  set timeout=0\nfi\n");
	check_row("/boot/extlinux.conf", "DEFAULT virt\nTIMEOUT 30\n", "tuning.skipBootMenu", "true",
		  "DEFAULT virt\n#lima+ TIMEOUT 30\nTIMEOUT 1\n");
	check_row("/etc/update-extlinux.conf", "# timeout\ntimeout=3\n", "tuning.skipBootMenu", "true",
		  "# timeout\n#lima+ timeout=3\ntimeout=1\n");
}

static void test_boot_menu_is_asked(void **state)
{
	(void)state;
	put("/etc/default/grub", GRUB);
	assert_string_equal(tuning_line(&su, "tuning.skipBootMenu"), "tuning.skipBootMenu: off");
	set("tuning.skipBootMenu", "true");
	assert_string_equal(tuning_line(&su, "tuning.skipBootMenu"),
			    "tuning.skipBootMenu: NOT in force: /etc/default/grub says GRUB_TIMEOUT=10");
	configure();
	assert_string_equal(tuning_line(&su, "tuning.skipBootMenu"), "tuning.skipBootMenu: in force");
	/* A guest without a boot loader gets none of its files. */
	assert_false(is_there("/boot/grub/grub.cfg"));
	assert_false(is_there("/boot/extlinux.conf"));
}

static void test_cloud_init_hotplug_is_off(void **state)
{
	(void)state;
	put("/etc/init.d/cloud-init-hotplugd", "#!/sbin/openrc-run\n");
	assert_int_equal(symlink("/etc/init.d/cloud-init-hotplugd", at("/etc/runlevels/default/cloud-init-hotplugd")), 0);
	set("tuning.noCloudInitHotplug", "true");
	assert_non_null(strstr(tuning_line(&su, "tuning.noCloudInitHotplug"), "NOT in force"));
	for (int twice = 0; twice < 2; twice++) {
		configure();
		assert_false(is_there("/etc/runlevels/default/cloud-init-hotplugd"));
		assert_string_equal(tuning_line(&su, "tuning.noCloudInitHotplug"), "tuning.noCloudInitHotplug: in force");
	}
	assert_true(is_there("/etc/init.d/cloud-init-hotplugd"));
	set("tuning.noCloudInitHotplug", "false");
	configure();
	assert_string_equal(target_of("/etc/runlevels/default/cloud-init-hotplugd"), "/etc/init.d/cloud-init-hotplugd");
}

#define DOCKER_CONF "/etc/conf.d/docker"

/* What the guest's own dockerd would be called with, asked of a shell as OpenRC does. */
static void check_docker_opts(const char *want)
{
	char command[800];

	/* The files it looks for are below our root. */
	snprintf(command, sizeof(command),
		 "sed '/^#/d;/-e/{s, /run/lima, %s/run/lima,;s, /etc/, %s/etc/,g}' %s" DOCKER_CONF ".default >%s/opts && "
		 "[ \"$(. %s/opts; echo $DOCKER_OPTS)\" = '%s' ]", root, root, root, root, root, want);
	assert_int_equal(system(command), 0);
}

static void set_docker_limits(void)
{
	set("tuning.dockerLogSize", "10485760");
	set("tuning.dockerLogFiles", "2");
	set("tuning.buildCache", "2147483648");
}

static void test_limits_of_the_guests_own_docker(void **state)
{
	auto_jx *all = NULL;
	const char *json;
	struct err e;

	(void)state;
	put("/etc/conf.d/syslog", "");
	set_docker_limits();
	configure();
	/* The package comes later, and finds nothing of ours in its place. */
	assert_false(is_there(DOCKER_CONF));
	check_docker_opts("--config-file /run/lima/daemon.json");
	put(DOCKER_CONF, "DOCKER_OPTS=\"-D\"\n");
	check_docker_opts("-D --config-file /run/lima/daemon.json");
	json = text_of(RUN_DIR "/daemon.json");
	all = jx_parse(json, strlen(json), "daemon.json", &e);
	assert_non_null(all);
	assert_string_equal(jx_string_or(jx_member(all, "log-opts"), "max-size", ""), "10m");
	assert_null(jx_member(all, "containerd"));
	put("/etc/docker/daemon.json", "{}\n");
	check_docker_opts("-D");
	/* The engine disk has services of ours. */
	set("docker", "true");
	configure();
	assert_false(is_there(DOCKER_CONF ".default"));
	assert_string_equal(text_of(DOCKER_CONF), "DOCKER_OPTS=\"-D\"\n");
}

static void test_docker_options_of_the_user_stay(void **state)
{
	struct err e;

	(void)state;
	put(DOCKER_CONF ".default", "DOCKER_OPTS=\"-D\"\n");
	set_docker_limits();
	assert_int_equal(openrc_configure(&su, &e), 0);
	assert_string_equal(text_of(DOCKER_CONF ".default"), "DOCKER_OPTS=\"-D\"\n");
	assert_non_null(strstr(text_of(RUN_DIR "/setup.warnings"), DOCKER_CONF ".default"));
	put(RUN_DIR "/setup.warnings", "");
	set("tuning.dockerLogSize", "0");
	set("tuning.buildCache", "0");
	configure();
	assert_string_equal(text_of(DOCKER_CONF ".default"), "DOCKER_OPTS=\"-D\"\n");
}

/* --- a cloud guest with OpenRC: we come while it boots --- */

static void test_a_guest_that_the_seed_brings_up(void **state)
{
	(void)state;
	set("init", "cloud");
	put("/sys/class/tty/ttyS0/type", "4\n");
	put("/etc/inittab", INITTAB_HEAD TTY1 TTYS0 INITTAB_TAIL);
	put("/etc/conf.d/syslog", "SYSLOGD_OPTS=\"-t\"\n");
	put("/etc/fstab", "UUID=1 / ext4 rw 0 1\n");
	put("/etc/default/grub", GRUB);
	put("/boot/grub/grub.cfg", "set timeout=10\n");
	put("/boot/extlinux.conf", "TIMEOUT 30\n");
	assert_int_equal(symlink("/etc/init.d/cloud-init-hotplugd", at("/etc/runlevels/default/cloud-init-hotplugd")), 0);
	set("tuning.syslogRing", "65536");
	set("tuning.commit", "60");
	set("tuning.skipBootMenu", "true");
	set("tuning.noCloudInitHotplug", "true");
	set_docker_limits();
	assert_int_equal(tuning_own_init(&su, NULL), 0);
	/* The end of such a guest is its own. */
	assert_string_equal(text_of("/etc/inittab"), INITTAB_HEAD "#lima- " TTY1 TTYS0 INITTAB_TAIL);
	assert_string_equal(text_of("/etc/conf.d/syslog"), "#lima+ SYSLOGD_OPTS=\"-t\"\nSYSLOGD_OPTS=\"-t -C64\"\n");
	assert_string_equal(text_of("/etc/fstab"), "#lima+ UUID=1 / ext4 rw 0 1\nUUID=1 / ext4 rw,commit=60 0 1\n");
	assert_string_equal(text_of("/boot/extlinux.conf"), "#lima+ TIMEOUT 30\nTIMEOUT 1\n");
	assert_string_equal(text_of("/etc/default/grub"), GRUB_0);
	assert_false(is_there("/etc/runlevels/default/cloud-init-hotplugd"));
	check_docker_opts("--config-file /run/lima/daemon.json");
	assert_string_equal(tuning_line(&su, "getty"), "getty: in force");
	assert_string_equal(text_of(RUN_DIR "/setup.warnings"), "");
}

static void test_grub_with_its_own_program_is_told_later(void **state)
{
	(void)state;
	set("init", "cloud");
	set("tuning.skipBootMenu", "true");
	put("/usr/sbin/grub-mkconfig", "");
	put("/etc/default/grub", GRUB);
	put("/boot/grub/grub.cfg", "set timeout=10\n");
	assert_int_equal(tuning_own_init(&su, NULL), 0);
	assert_string_equal(text_of("/etc/default/grub"), GRUB);
	assert_string_equal(text_of("/boot/grub/grub.cfg"), "set timeout=10\n");
}

/* --- conf_edit --- */

static void test_files_of_others_are_left_alone(void **state)
{
	const struct conf_prefix p = { "a=", "a=1" };
	const struct conf_rule rule = { conf_by_prefix, &p, "a=1" };
	struct stat st;
	struct err e;
	FILE *f;

	(void)state;
	put("/etc/x", "no newline at the end");
	assert_int_equal(conf_edit(&su, "/etc/x", &rule, false, &e), 0);
	assert_string_equal(text_of("/etc/x"), "no newline at the end");
	assert_int_equal(conf_edit(&su, "/etc/absent", &rule, true, &e), 0);
	assert_false(is_there("/etc/absent"));
	assert_int_equal(chmod(at("/etc/x"), 0600), 0);
	assert_int_equal(conf_edit(&su, "/etc/x", &rule, true, &e), 0);
	assert_int_equal(stat(at("/etc/x"), &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	f = fopen(at("/etc/x"), "we");
	assert_non_null(f);
	assert_int_equal(fwrite("a=2\0b", 1, 5, f), 5);
	fclose(f);
	assert_int_equal(conf_edit(&su, "/etc/x", &rule, true, &e), -1);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, begin, end)
	static const struct CMUnitTest tests[] = {
		T(test_services_come_and_go),
		T(test_scripts_are_shell),
		T(test_kept_dependencies_are_forgotten_when_services_change),
		T(test_a_guest_without_openrc),
		T(test_syslog_ring),
		T(test_commit),
		T(test_no_getty_on_a_missing_console_and_a_clean_end),
		T(test_boot_menu_is_skipped),
		T(test_boot_menu_is_asked),
		T(test_cloud_init_hotplug_is_off),
		T(test_limits_of_the_guests_own_docker),
		T(test_docker_options_of_the_user_stay),
		T(test_a_guest_that_the_seed_brings_up),
		T(test_grub_with_its_own_program_is_told_later),
		T(test_files_of_others_are_left_alone),
	};

	return cmocka_run_group_tests_name("openrc", tests, NULL, NULL);
}
