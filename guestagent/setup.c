#include "guestagent/setup.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "guestagent/openrc.h"
#include "guestagent/provision.h"
#include "guestagent/setup_steps.h"
#include "guestagent/trouble.h"
#include "guestagent/tuning.h"

/* Of the power button, and the one that gives freed memory back to the host; which of them the machine has a device for is
 * the kernel's business. */
static const char *const machine_modules[] = { "modprobe", "-aq", "button", "evdev", "gpio_keys", "virtio_balloon", NULL };

bool setup_is_cloud(const struct settings *s)
{
	return strcmp(settings_get(s, "init", ""), "cloud") == 0;
}

static int boot_scripts(const struct setup *su, struct err *e)
{
	(void)e;
	provision_run(RUN_DIR, su->settings, "boot");
	return 0;
}

/* A lean guest's setup is one run. With OpenRC there are two: by the service lima-setup before anything else starts,
 * and by lima-agent when the guest's own services have had their chance to bring the network up. In a cloud guest the
 * seed's boot scripts do all but what the agent needs for itself. */
enum { LEAN = 1, EARLY = 2, LATE = 4, CLOUD = 8 };

/* In this order: nothing logs before /var/log is in place, and scripts find a finished machine. */
static const struct {
	const char *name;
	int (*run)(const struct setup *su, struct err *e);
	unsigned when;
	bool needed; /* what was asked for does not work without it: the host is told */
} steps[] = {
	{ "mounts", setup_mounts, LEAN | EARLY | CLOUD, false },
	{ "boot id", setup_boot_id, LEAN | EARLY | CLOUD, false },
	{ "clock", setup_clock, LEAN | EARLY, false },
	{ "root disk", setup_grow_root, LEAN | EARLY, false },
	{ "extra disks", setup_disks, LEAN | EARLY | CLOUD, false },
	{ "tuning", tuning_apply, LEAN | EARLY, false },
	{ "quiet kernel", setup_quiet, LEAN | EARLY, false },
	{ "tuning of its own init", tuning_own_init, CLOUD, false },
	{ "engine disk", engine_link, LEAN | EARLY | CLOUD, true },
	{ "engine modules", engine_modules, LEAN | EARLY | CLOUD, false },
	{ "engine configuration", engine_configure, LEAN | EARLY | CLOUD, false },
	{ "identity", setup_identity, LEAN | EARLY | CLOUD, false },
	{ "host name", setup_hostname, LEAN | EARLY, false },
	{ "name servers", net_dns_clients, EARLY, false },
	{ "network", net_up, LEAN, true },
	{ "network", net_up_if_down, LATE, true },
	{ "name servers", net_dns_if_given, LATE, false },
	{ "environment", setup_environment, LEAN | EARLY, false },
	{ "user", setup_user, LEAN | EARLY, true },
	{ "host folders", setup_shares, LEAN | EARLY, false },
	{ "ssh keys", setup_ssh_keys, LEAN | EARLY, false },
	{ "time zone", setup_timezone, LEAN | EARLY, false },
	{ "certificates", setup_certificates, LEAN | EARLY, false },
	{ "crond", setup_cron, LEAN, false },
	{ "boot scripts", boot_scripts, LEAN | LATE, false },
};
enum { STEPS = sizeof(steps) / sizeof(steps[0]) };

static void failed(const struct setup *su, size_t i, const char *why)
{
	su_warn(su, "%s: %s", steps[i].name, why);
	if (steps[i].needed)
		trouble_note(su, steps[i].name, "%s", why);
}

static int run_steps(const struct setup *su, unsigned when)
{
	struct err e = { 0 };
	pid_t modules = when & LATE ? 0 : su_start(machine_modules, &e);

	if (modules < 0)
		su_warn(su, "modules of the power button and of memory: %s", e.msg);
	for (size_t i = 0; i < STEPS; i++)
		if (steps[i].when & when && steps[i].run(su, &e) < 0)
			failed(su, i, e.msg);
	/* The daemon looks for the button once, when it starts. Absent modules are no error here. */
	if (modules > 0)
		su_wait(modules, machine_modules[0], &e);
	if (!(when & EARLY) && su_write(su, RUN_DIR "/setup.done", "", 0644, &e) < 0)
		su_warn(su, "%s", e.msg);
	return 0;
}

static int check(const struct setup *su, unsigned unused)
{
	(void)unused;
	return tuning_check(su, stdout);
}

static int openrc(const struct setup *su, unsigned unused)
{
	struct err e;

	(void)unused;
	if (openrc_configure(su, &e) == 0)
		return 0;
	su_warn(su, "guest.init: openrc: %s; our own init is used", e.msg);
	return 1;
}

static const struct {
	const char *word;
	int (*run)(const struct setup *su, unsigned when);
	unsigned when;
} modes[] = {
	{ "", run_steps, LEAN },
	{ "--early", run_steps, EARLY },
	{ "--late", run_steps, LATE },
	{ "--cloud", run_steps, CLOUD },
	{ "--openrc", openrc, 0 },
	{ "--check", check, 0 },
};
enum { MODES = sizeof(modes) / sizeof(modes[0]) };

int setup_main(int argc, char **argv)
{
	static struct settings settings;
	struct setup su = { &settings, "" };
	auto_buf text = BUF_INIT(SETTINGS_SIZE_MAX);
	struct err e = { 0 };
	size_t i = 0;

	while (i < MODES && (argc > 2 || strcmp(modes[i].word, argc == 2 ? argv[1] : "") != 0))
		i++;
	if (i == MODES) {
		fprintf(stderr, "usage: setup [--early|--late|--cloud|--openrc|--check]\n");
		return 2;
	}
	setenv("PATH", SETUP_PATH, 1);
	umask(022);
	if (settings_load(&settings, RUN_DIR "/settings", &text, &e) < 0 && e.errnum != ENOENT)
		su_warn(&su, "settings: %s; defaults are used", e.msg);
	return modes[i].run(&su, modes[i].when);
}
