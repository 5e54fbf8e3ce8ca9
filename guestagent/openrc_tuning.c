/* openrc_tuning.c - files the rows of the tuning table want in a guest with OpenRC, or any init of its own: before that
 * starts, or early in its boot. */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "guestagent/conf_edit.h"
#include "guestagent/console.h"
#include "guestagent/grub.h"
#include "guestagent/openrc.h"
#include "guestagent/setup.h"
#include "guestagent/tuning.h"
#include "lib/cleanup.h"

int openrc_syslog(const struct setup *su, bool on, struct err *e)
{
	char line[64];
	struct conf_prefix p = { "SYSLOGD_OPTS=", line };
	struct conf_rule rule = { conf_by_prefix, &p, line };

	/* Not taken out of the runlevel: whoever uses a logger (sshd) would bring it back, with a file. */
	snprintf(line, sizeof(line), "SYSLOGD_OPTS=\"-t -C%llu\"", su_number(su, "tuning.syslogRing", 0) / 1024);
	return conf_edit(su, "/etc/conf.d/syslog", &rule, on, e);
}

/* --- the root file system's options --- */

/* Splits "device / ext4 options rest": 0 and where the options are, -1 for any other line. */
static int root_options(const char *line, size_t *at, size_t *len)
{
	char place[8], type[8];
	int options = 0;

	if (line[0] == '#' || sscanf(line, "%*s %7s %7s %n", place, type, &options) != 2 || !options)
		return -1;
	if (strcmp(place, "/") != 0 || strcmp(type, "ext4") != 0)
		return -1;
	*at = (size_t)options;
	*len = strcspn(line + options, " \t");
	return 0;
}

static enum conf_what commit_line(const struct setup *su, const void *arg, const char *line, char new[CONF_LINE_MAX])
{
	char options[CONF_LINE_MAX], *save = NULL, kept[CONF_LINE_MAX] = "";
	size_t at, len, n = 0;

	(void)arg;
	if (root_options(line, &at, &len) < 0)
		return CONF_KEEP;
	snprintf(options, sizeof(options), "%.*s", (int)len, line + at);
	for (char *o = strtok_r(options, ",", &save); o; o = strtok_r(NULL, ",", &save))
		if (strncmp(o, "commit=", 7) != 0)
			n += (size_t)snprintf(kept + n, sizeof(kept) - n, "%s,", o);
	if (snprintf(new, CONF_LINE_MAX, "%.*s%scommit=%llu%s", (int)at, line, kept, su_number(su, "tuning.commit", 0),
		     line + at + len) >= CONF_LINE_MAX)
		return CONF_KEEP;
	return CONF_REPLACE;
}

int openrc_commit(const struct setup *su, bool on, struct err *e)
{
	struct conf_rule rule = { commit_line, NULL, NULL };

	/* /lima/init mounts the root with it; a guest that remounts by its fstab must say the same. */
	return conf_edit(su, "/etc/fstab", &rule, on, e);
}

/* --- the guest's own Docker --- */

/* OpenRC reads the file with the runlevel's name instead of the plain one. So the plain one stays the package's, also
 * when that is installed later: apk would leave its own version beside a file that it finds there. */
#define DOCKER_CONF "/etc/conf.d/docker"
#define DOCKER_CONF_OURS DOCKER_CONF ".default"
#define WRITTEN "# Written by lima-guestagent at each boot; changes are lost. Yours belong in " DOCKER_CONF ".\n"

/* The service's options in the runlevel default: text, or NULL to leave them to the package. */
static int docker_conf(const struct setup *su, const char *text, struct err *e)
{
	auto_buf old = BUF_INIT(SU_FILE_MAX);
	char path[SU_PATH_MAX];
	bool ours;

	if (su_read(su, DOCKER_CONF_OURS, &old, e) < 0)
		return -1;
	ours = strncmp(old.data, WRITTEN, strlen(WRITTEN)) == 0;
	if (text && !ours && su_exists(su, DOCKER_CONF_OURS))
		return err_set(e, ERR_STATE, "%s is there already, and not ours", DOCKER_CONF_OURS);
	if (text)
		return su_write(su, DOCKER_CONF_OURS, text, 0644, e);
	if (ours && unlink(su_path(su, DOCKER_CONF_OURS, path)) < 0)
		return err_errno(e, "cannot remove %s", DOCKER_CONF_OURS);
	return 0;
}

int openrc_docker(const struct setup *su, bool on, struct err *e)
{
	static const char text[] =
		WRITTEN
		"[ ! -e " DOCKER_CONF " ] || . " DOCKER_CONF "\n"
		"[ -e /etc/docker/daemon.json ] || [ ! -e " RUN_DIR "/daemon.json ] ||\n"
		"\tDOCKER_OPTS=\"${DOCKER_OPTS:-} --config-file " RUN_DIR "/daemon.json\"\n";
	auto_buf json = BUF_INIT(4096);
	bool own;

	(void)on; /* two rows share the file */
	if (!su_exists(su, "/etc/conf.d"))
		return 0;
	own = !su_flag(su, "docker", false) &&
	      (su_number(su, "tuning.dockerLogSize", 0) || su_number(su, "tuning.buildCache", 0));
	if (docker_conf(su, own ? text : NULL, e) < 0)
		return -1;
	if (!own)
		return 0;
	if (tuning_docker_json(su, &json) < 0)
		return err_set(e, ERR_SYS, "no memory");
	return su_write(su, RUN_DIR "/daemon.json", json.data, 0644, e);
}

/* --- inittab --- */

/* "tty1::respawn:/sbin/getty 38400 tty1": its console in out. */
static bool is_getty(const char *line, char out[65])
{
	size_t n = strcspn(line, ":");

	snprintf(out, 65, "%.*s", (int)(n < 64 ? n : 64), line);
	return line[0] != '#' && n > 0 && line[n] == ':' && strstr(line, "getty");
}

static enum conf_what getty_line(const struct setup *su, const void *arg, const char *line, char new[CONF_LINE_MAX])
{
	char console[65];

	(void)arg;
	(void)new;
	return is_getty(line, console) && console_missing(su, console) ? CONF_DROP : CONF_KEEP;
}

int openrc_inittab(const struct setup *su, bool on, struct err *e)
{
	/* Where we come before its init: after OpenRC has stopped its services, the same end as a lean guest's, with a
	 * clean root whatever OpenRC thinks it runs in (it leaves the root mounted where rc_sys says it is a container). */
	struct conf_rule rule = { getty_line, NULL, openrc_is(su) ? "::shutdown:" RUN_DIR "/agent shutdown" : NULL };

	return conf_edit(su, "/etc/inittab", &rule, on, e);
}

bool openrc_has_stray_getty(const struct setup *su)
{
	auto_buf text = BUF_INIT(SU_FILE_MAX);
	char console[65], *save = NULL;
	struct err e;

	if (su_read(su, "/etc/inittab", &text, &e) < 0)
		return false;
	for (char *line = strtok_r(text.data, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
		if (is_getty(line, console) && console_missing(su, console))
			return true;
	return false;
}

/* --- rows of cloud images --- */

/* Where a boot loader is told how long to wait. syslinux waits for ever at 0, so it gets its shortest time. */
static const struct {
	const char *path;
	struct conf_prefix time;
	const char *add;
} boot_menus[] = {
	{ "/etc/default/grub", { "GRUB_TIMEOUT=", "GRUB_TIMEOUT=0" }, "GRUB_TIMEOUT=0" },
	{ "/boot/grub/grub.cfg", { "set timeout=", "set timeout=0" }, NULL },
	{ "/etc/update-extlinux.conf", { "timeout=", "timeout=1" }, NULL },
	{ "/boot/extlinux.conf", { "TIMEOUT ", "TIMEOUT 1" }, NULL },
	{ "/boot/syslinux/syslinux.cfg", { "TIMEOUT ", "TIMEOUT 1" }, NULL },
};
enum { BOOT_MENUS = sizeof(boot_menus) / sizeof(boot_menus[0]) };

int openrc_boot_menu(const struct setup *su, bool on, struct err *e)
{
	/* Its own tools are asked once it runs. */
	if (!openrc_is(su) && grub_is(su))
		return 0;
	for (size_t i = 0; i < BOOT_MENUS; i++) {
		struct conf_rule rule = { conf_by_prefix, &boot_menus[i].time, boot_menus[i].add };

		if (conf_edit(su, boot_menus[i].path, &rule, on, e) < 0)
			return -1;
	}
	return 0;
}

int openrc_check_boot_menu(const struct setup *su, struct err *e)
{
	if (!openrc_is(su) && grub_is(su))
		return grub_check_menu(su, e);
	for (size_t i = 0; i < BOOT_MENUS; i++) {
		const struct conf_prefix *p = &boot_menus[i].time;
		auto_buf text = BUF_INIT(SU_FILE_MAX);
		char *save = NULL;

		if (su_read(su, boot_menus[i].path, &text, e) < 0)
			return -1;
		for (char *l = strtok_r(text.data, "\n", &save); l; l = strtok_r(NULL, "\n", &save)) {
			l += strspn(l, " \t");
			if (strncmp(l, p->prefix, strlen(p->prefix)) == 0 && strcmp(l, p->text) != 0)
				return err_set(e, ERR_STATE, "%s says %.80s", boot_menus[i].path, l);
		}
	}
	return 0;
}

/* OpenRC does not see names that begin with a dot, so a link renamed to this one can be put back. */
#define HOTPLUG "cloud-init-hotplugd"
#define HOTPLUG_OFF "." HOTPLUG ".lima"

/* Renames it from..to in every runlevel; to NULL: only counts. Returns how many there are. */
static int each_runlevel(const struct setup *su, const char *from, const char *to)
{
	char path[SU_PATH_MAX], old[SU_PATH_MAX + 300], new[SU_PATH_MAX + 300];
	struct dirent *d;
	auto_closedir DIR *dir = opendir(su_path(su, "/etc/runlevels", path));
	int n = 0;

	while (dir && (d = readdir(dir))) {
		if (d->d_name[0] == '.')
			continue;
		snprintf(old, sizeof(old), "%s/%s/%s", path, d->d_name, from);
		snprintf(new, sizeof(new), "%s/%s/%s", path, d->d_name, to ? to : "");
		if (faccessat(AT_FDCWD, old, F_OK, AT_SYMLINK_NOFOLLOW) == 0 && (!to || rename(old, new) == 0))
			n++;
	}
	return n;
}

int openrc_no_hotplug(const struct setup *su, bool on, struct err *e)
{
	each_runlevel(su, on ? HOTPLUG : HOTPLUG_OFF, on ? HOTPLUG_OFF : HOTPLUG);
	return on ? openrc_check_no_hotplug(su, e) : 0;
}

int openrc_check_no_hotplug(const struct setup *su, struct err *e)
{
	return each_runlevel(su, HOTPLUG, NULL) ? err_set(e, ERR_STATE, "%s is in a runlevel", HOTPLUG) : 0;
}
