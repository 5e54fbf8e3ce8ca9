/* setup_zone.c - the guest's time zone. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "guestagent/setup.h"
#include "guestagent/setup_steps.h"

#define ZONES "/usr/share/zoneinfo/"
#define LOCALTIME "/etc/localtime"
enum { ZONE_NAME_MAX = 100 };

/* It becomes part of a path. */
static bool usable(const char *name)
{
	size_t n = strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_+-/");

	return n > 0 && n < ZONE_NAME_MAX && !name[n] && name[0] != '/';
}

static int link_zone(const struct setup *su, const char *zone, struct err *e)
{
	char path[SU_PATH_MAX], old[sizeof(ZONES) + ZONE_NAME_MAX] = "";

	su_path(su, LOCALTIME, path);
	if (readlink(path, old, sizeof(old) - 1) > 0 && strcmp(old, zone) == 0)
		return 0;
	if (unlink(path) < 0 && errno != ENOENT)
		return err_errno(e, "%s", path);
	return symlink(zone, path) < 0 ? err_errno(e, "%s", path) : 0;
}

/* The host's description of the zone, for a guest without any. */
static int copy_zone(const struct setup *su, const char *name, struct err *e)
{
	auto_buf text = BUF_INIT(SU_FILE_MAX);
	char path[SU_PATH_MAX];

	if (su_read(su, RUN_DIR "/localtime", &text, e) < 0)
		return -1;
	if (!text.len && (strcmp(name, "UTC") == 0 || strcmp(name, "Etc/UTC") == 0))
		return unlink(su_path(su, LOCALTIME, path)) < 0 && errno != ENOENT ? err_errno(e, "%s", path) : 0;
	if (text.len < 4 || memcmp(text.data, "TZif", 4) != 0)
		return err_set(e, ERR_NOTFOUND, "neither this guest nor the host knows \"%s\"", name);
	return su_write_bytes(su, LOCALTIME, text.data, text.len, 0644, e);
}

int setup_timezone(const struct setup *su, struct err *e)
{
	const char *name = settings_get(su->settings, "timezone", "");
	char zone[sizeof(ZONES) + ZONE_NAME_MAX], path[SU_PATH_MAX], line[ZONE_NAME_MAX + 2];
	struct stat st;

	if (!*name)
		return 0;
	if (!usable(name))
		return err_set(e, ERR_INVALID, "\"%.100s\" is no name of a time zone", name);
	snprintf(zone, sizeof(zone), ZONES "%s", name);
	if ((stat(su_path(su, zone, path), &st) == 0 && S_ISREG(st.st_mode) ? link_zone(su, zone, e) : copy_zone(su, name, e)) < 0)
		return -1;
	snprintf(line, sizeof(line), "%s\n", name);
	return su_write(su, "/etc/timezone", line, 0644, e);
}
