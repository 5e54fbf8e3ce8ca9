#include "guestagent/setup.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "guestagent/provision.h"
#include "guestagent/setup_steps.h"
#include "guestagent/tuning.h"
#include "lib/cleanup.h"
#include "lib/io.h"

/* The power button's modules; which of them the machine has a device for is the kernel's business. */
static const char *const power_modules[] = { "modprobe", "-aq", "button", "evdev", "gpio_keys", NULL };

static int boot_scripts(const struct setup *su, struct err *e)
{
	(void)e;
	provision_run(RUN_DIR, su->settings, "boot");
	return 0;
}

/* In this order: nothing logs before /var/log is in place, and scripts find a finished machine. */
static const struct {
	const char *name;
	int (*run)(const struct setup *su, struct err *e);
} steps[] = {
	{ "mounts", setup_mounts },
	{ "boot id", setup_boot_id },
	{ "clock", setup_clock },
	{ "root disk", setup_grow_root },
	{ "tuning", tuning_apply },
	{ "engine disk", engine_link },
	{ "engine modules", engine_modules },
	{ "host name", setup_hostname },
	{ "network", net_up },
	{ "environment", setup_environment },
	{ "user", setup_user },
	{ "boot scripts", boot_scripts },
};
enum { STEPS = sizeof(steps) / sizeof(steps[0]) };

static int load(struct settings *s, struct buf *text, struct err *e)
{
	*s = (struct settings){ 0 };
	if (io_read_file(RUN_DIR "/settings", text, e) < 0)
		return e->errnum == ENOENT ? 0 : -1;
	return text->len ? settings_parse(s, text->data, e) : 0;
}

static void run_steps(const struct setup *su)
{
	struct err e = { 0 };
	pid_t modules = su_start(power_modules, &e);

	if (modules < 0)
		su_warn(su, "power button: %s", e.msg);
	for (size_t i = 0; i < STEPS; i++)
		if (steps[i].run(su, &e) < 0)
			su_warn(su, "%s: %s", steps[i].name, e.msg);
	/* The daemon looks for the button once, when it starts. Absent modules are no error here. */
	if (modules > 0)
		su_wait(modules, power_modules[0], &e);
	if (su_write(su, RUN_DIR "/setup.done", "", 0644, &e) < 0)
		su_warn(su, "%s", e.msg);
}

/* setup [--check]: with --check nothing is changed; it prints for each tuning whether it is in force. */
int setup_main(int argc, char **argv)
{
	static struct settings settings;
	struct setup su = { &settings, "" };
	auto_buf text = BUF_INIT(SETTINGS_SIZE_MAX);
	struct err e = { 0 };
	bool check = argc == 2 && strcmp(argv[1], "--check") == 0;

	if (argc != 1 && !check) {
		fprintf(stderr, "usage: setup [--check]\n");
		return 2;
	}
	setenv("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", 1);
	umask(022);
	if (load(&settings, &text, &e) < 0) {
		settings.count = 0;
		su_warn(&su, "settings: %s; defaults are used", e.msg);
	}
	if (check)
		return tuning_check(&su, stdout);
	run_steps(&su);
	return 0;
}
