#include "guestagent/systemd.h"

#include <errno.h>
#include <glob.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "guestagent/console.h"
#include "lib/cleanup.h"

#define UNITS "/etc/systemd/system/"
#define OURS "lima-guestagent.conf"
#define OFF "# Written by lima-guestagent (tuning of the template); removed when it is no longer wanted.\n" \
	    "[Unit]\nConditionPathExists=!/\n"

enum { UNIT_MAX = 128, PLACE_MAX = 200 };

bool systemd_is(const struct setup *su)
{
	return su_exists(su, "/run/systemd/system");
}

static int systemctl(const struct setup *su, const char *verb, const char *option, const char *unit, struct err *e)
{
	char program[SU_PATH_MAX];
	const char *argv[] = { su_path(su, "/usr/bin/systemctl", program), verb, option, unit, NULL };

	return su_run(argv, e);
}

static void place_of(const char *unit, char out[PLACE_MAX])
{
	snprintf(out, PLACE_MAX, UNITS "%.*s.d/" OURS, UNIT_MAX, unit);
}

static bool is_off(const struct setup *su, const char *unit)
{
	char place[PLACE_MAX];

	place_of(unit, place);
	return su_exists(su, place);
}

static int put_away(const struct setup *su, const char *place, struct err *e)
{
	char path[SU_PATH_MAX];

	if (unlink(su_path(su, place, path)) < 0)
		return err_errno(e, "cannot remove %s", place);
	*strrchr(path, '/') = '\0';
	rmdir(path); /* unless the guest has something there too */
	return 0;
}

/* Does nothing when it is so already. */
static int switch_unit(const struct setup *su, const char *unit, bool off, struct err *e)
{
	char place[PLACE_MAX], folder[PLACE_MAX];
	struct err not_enabled;

	if (is_off(su, unit) == off)
		return 0;
	place_of(unit, place);
	snprintf(folder, sizeof(folder), "%.*s", (int)(strrchr(place, '/') - place), place);
	if (!off && put_away(su, place, e) < 0)
		return -1;
	if (off && (su_mkdirs(su, folder, 0755, e) < 0 || su_write(su, place, OFF, 0644, e) < 0))
		return -1;
	if (systemctl(su, "daemon-reload", NULL, NULL, e) < 0)
		return -1;
	if (off)
		return systemctl(su, "stop", "--no-block", unit, e);
	/* The guest may not want it either. */
	if (systemctl(su, "is-enabled", "--quiet", unit, &not_enabled) < 0)
		return 0;
	return systemctl(su, "start", "--no-block", unit, e);
}

/* --- cloud-init's hotplug service: a socket that starts it --- */

#define HOTPLUG "cloud-init-hotplugd.socket"

int systemd_no_hotplug(const struct setup *su, bool on, struct err *e)
{
	bool there = su_exists(su, "/usr/lib/systemd/system/" HOTPLUG) || su_exists(su, "/lib/systemd/system/" HOTPLUG) ||
		     su_exists(su, UNITS HOTPLUG);

	return systemd_is(su) ? switch_unit(su, HOTPLUG, on && there, e) : 0;
}

int systemd_check_no_hotplug(const struct setup *su, struct err *e)
{
	struct err inactive;

	if (!systemd_is(su) || systemctl(su, "is-active", "--quiet", HOTPLUG, &inactive) < 0)
		return 0;
	return err_set(e, ERR_STATE, "%s is active", HOTPLUG);
}

/* --- gettys --- */

/* Where one is asked for, by the guest or by systemd for the kernel's consoles; and where we have switched one off. */
static const char *const getty_places[] = {
	UNITS "*.wants/*getty@*.service",
	"/usr/lib/systemd/system/*.wants/*getty@*.service",
	"/run/systemd/generator/*.wants/*getty@*.service",
	UNITS "*getty@*.service.d/" OURS,
};
enum { GETTY_PLACES = sizeof(getty_places) / sizeof(getty_places[0]) };

/* "…/getty@tty1.service[.d/…]": the unit, and whether its console is missing. */
static bool is_stray(const struct setup *su, const char *path, char unit[UNIT_MAX])
{
	const char *at = strstr(path, "getty@") + strlen("getty@"), *end = strstr(at, ".service"), *name = at;
	char console[UNIT_MAX];

	while (name > path && name[-1] != '/')
		name--;
	snprintf(console, sizeof(console), "%.*s", (int)(end - at), at);
	snprintf(unit, UNIT_MAX, "%.*s.service", (int)(end - name), name);
	return console_missing(su, console);
}

/* Calls each with every getty there is, until one says other than 0. */
static int each_getty(const struct setup *su, int (*each)(const struct setup *, const char *unit, bool stray, struct err *),
		      struct err *e)
{
	char path[SU_PATH_MAX], unit[UNIT_MAX];
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < GETTY_PLACES; i++) {
		glob_t g;

		if (glob(su_path(su, getty_places[i], path), 0, NULL, &g) != 0)
			continue;
		for (size_t k = 0; rc == 0 && k < g.gl_pathc; k++) {
			bool stray = is_stray(su, g.gl_pathv[k] + strlen(su->root), unit);

			rc = each(su, unit, stray, e);
		}
		globfree(&g);
	}
	return rc;
}

int systemd_gettys(const struct setup *su, bool on, struct err *e)
{
	(void)on; /* always: one comes back with its console */
	return systemd_is(su) ? each_getty(su, switch_unit, e) : 0;
}

static int is_stray_and_on(const struct setup *su, const char *unit, bool stray, struct err *e)
{
	(void)e;
	return stray && !is_off(su, unit);
}

bool systemd_has_stray_getty(const struct setup *su)
{
	struct err none;

	return systemd_is(su) && each_getty(su, is_stray_and_on, &none) != 0;
}
