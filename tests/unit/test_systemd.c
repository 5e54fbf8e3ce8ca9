/* Units of a guest with systemd that the tuning switches off and on again. systemctl is a script that notes what it is asked. */
#include "tests/unit/setup_root.h"

#include <stdio.h>

#include "guestagent/systemd.h"
#include "guestagent/tuning.h"

#define UNITS "/etc/systemd/system/"
#define OFF(unit) UNITS unit ".d/lima-guestagent.conf"
#define HOTPLUG "cloud-init-hotplugd.socket"

static void folder(const char *path)
{
	struct err e;

	assert_int_equal(su_mkdirs(&su, path, 0755, &e), 0);
}

static int begin_systemd(void **state)
{
	char text[300];

	begin(state);
	folder("/run/systemd/system");
	folder("/run/systemd/generator/getty.target.wants");
	folder(UNITS "getty.target.wants");
	folder("/usr/lib/systemd/system");
	/* is-enabled and is-active ask for files of that name. */
	snprintf(text, sizeof(text), "#!/bin/sh\necho \"$@\" >>%s/asked\ncase $1 in is-*) [ -e %s/$1 ] ;; esac\n", root, root);
	put("/usr/bin/systemctl", text, 0755);
	set("init", "cloud");
	set("tuning.noCloudInitHotplug", "true");
	return 0;
}

static void tune(const char *asks)
{
	unlink(at("/asked"));
	tuning_settled(&su);
	assert_string_equal(text_of(RUN_DIR "/setup.warnings"), "");
	assert_string_equal(text_of("/asked"), asks);
}

static bool is_there(const char *path)
{
	return access(at(path), F_OK) == 0;
}

static void test_hotplug(void **state)
{
	struct err e;

	(void)state;
	tune(""); /* it has none */
	put("/usr/lib/systemd/system/" HOTPLUG, "", 0644);
	tune("daemon-reload\nstop --no-block " HOTPLUG "\n");
	assert_non_null(strstr(text_of(OFF(HOTPLUG)), "[Unit]\nConditionPathExists=!/\n"));
	tune("");
	assert_int_equal(systemd_check_no_hotplug(&su, &e), 0);
	put("/is-active", "", 0644);
	assert_int_equal(systemd_check_no_hotplug(&su, &e), -1);
	/* Not wanted any more; the user has switched it off in the meantime. */
	settings.item[1].value = "false";
	tune("daemon-reload\nis-enabled --quiet " HOTPLUG "\n");
	assert_false(is_there(UNITS HOTPLUG ".d"));
	tune("");
	settings.item[1].value = "true";
	tune("daemon-reload\nstop --no-block " HOTPLUG "\n");
	put(UNITS HOTPLUG ".d/mine.conf", "", 0644);
	put("/is-enabled", "", 0644);
	settings.item[1].value = "false";
	tune("daemon-reload\nis-enabled --quiet " HOTPLUG "\nstart --no-block " HOTPLUG "\n");
	assert_true(is_there(UNITS HOTPLUG ".d/mine.conf"));
	assert_false(is_there(OFF(HOTPLUG)));
}

static void test_gettys(void **state)
{
	(void)state;
	folder("/sys/class/tty/tty1");
	folder("/sys/class/tty/ttyS0");
	folder("/sys/class/tty/hvc0");
	folder("/sys/bus/pci/devices/0000:00:01.0");
	put("/sys/class/tty/ttyS0/type", "4\n", 0444);
	assert_int_equal(symlink("/lib/systemd/system/getty@.service", at(UNITS "getty.target.wants/getty@tty1.service")), 0);
	put(UNITS "getty.target.wants/serial-getty@ttyAMA0.service", "", 0644);
	put(UNITS "getty.target.wants/console-getty.service", "", 0644);
	put("/run/systemd/generator/getty.target.wants/serial-getty@ttyS0.service", "", 0644);
	put("/run/systemd/generator/getty.target.wants/serial-getty@hvc0.service", "", 0644);
	assert_true(systemd_has_stray_getty(&su));
	tuning_settled(&su);
	assert_false(systemd_has_stray_getty(&su));
	assert_true(is_there(OFF("getty@tty1.service")));
	assert_true(is_there(OFF("serial-getty@ttyAMA0.service")));
	assert_false(is_there(OFF("serial-getty@ttyS0.service")));
	assert_false(is_there(OFF("serial-getty@hvc0.service")));
	tune("");
	/* The same disk in a machine with a screen; and the link to the other one is gone. */
	put("/sys/bus/pci/devices/0000:00:01.0/class", "0x030000\n", 0444);
	put("/is-enabled", "", 0644);
	tune("daemon-reload\nis-enabled --quiet getty@tty1.service\nstart --no-block getty@tty1.service\n");
	assert_false(is_there(UNITS "getty@tty1.service.d"));
	folder("/sys/class/tty/ttyAMA0");
	assert_int_equal(unlink(at(UNITS "getty.target.wants/serial-getty@ttyAMA0.service")), 0);
	unlink(at("/is-enabled"));
	tune("daemon-reload\nis-enabled --quiet serial-getty@ttyAMA0.service\n");
	assert_false(is_there(UNITS "serial-getty@ttyAMA0.service.d"));
}

static void test_another_init(void **state)
{
	(void)state;
	put("/usr/lib/systemd/system/" HOTPLUG, "", 0644);
	put(UNITS "getty.target.wants/serial-getty@ttyAMA0.service", "", 0644);
	assert_int_equal(rmdir(at("/run/systemd/system")), 0);
	tune("");
	assert_false(systemd_has_stray_getty(&su));
	assert_false(is_there(OFF(HOTPLUG)));
}

#define T(fn) cmocka_unit_test_setup_teardown(fn, begin_systemd, end)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		T(test_hotplug),
		T(test_gettys),
		T(test_another_init),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
