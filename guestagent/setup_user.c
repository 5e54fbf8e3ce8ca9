/* setup_user.c - the template's user: entries in passwd, shadow and group, home, sudo.
 *
 * What the settings say wins over an entry of that name; everything else in these files stays as it is.
 */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "guestagent/setup_steps.h"

#define SUDOERS "/etc/sudoers.d/90-lima"

struct account {
	const char *name, *home, *shell, *comment;
	unsigned long long uid, gid;
};

/* What may stand in a field of these files, and in a rule of sudo, without meaning something else there. */
static bool usable_name(const char *s)
{
	size_t n = strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-");

	return n > 0 && n <= 32 && s[n] == '\0' && s[0] != '-' && (s[0] < '0' || s[0] > '9');
}

static bool usable_field(const char *s)
{
	return !strpbrk(s, ":\n\r") && strlen(s) < 256;
}

static bool line_is(const char *line, const char *name)
{
	size_t n = strlen(name);

	return strncmp(line, name, n) == 0 && line[n] == ':';
}

/* The line of that name, NULL when there is none. */
static char *find_line(char *text, const char *name)
{
	while (*text && !line_is(text, name)) {
		text += strcspn(text, "\n");
		text += *text == '\n';
	}
	return *text ? text : NULL;
}

static char *after_line(char *line)
{
	line += strcspn(line, "\n");
	return line + (*line == '\n');
}

/* Field number (from 0) of a line of a:b:c, as text in out. */
static const char *field(const char *line, int number, char *out, size_t size)
{
	size_t n;

	for (; number > 0 && *line && *line != '\n'; line++)
		number -= *line == ':';
	n = strcspn(line, ":\n");
	snprintf(out, size, "%.*s", (int)(n < size ? n : size - 1), line);
	return out;
}

/* Puts entry (a whole line) in place of the line of that name. A new one goes after the first line, so that of two
 * names with one number ours is the one that is found. mode is for a file that is not there yet. */
static int put_entry(const struct setup *su, const char *path, const char *name, const char *entry, mode_t mode,
		     struct err *e)
{
	auto_buf old = BUF_INIT(SU_FILE_MAX), new = BUF_INIT(SU_FILE_MAX);
	char full[SU_PATH_MAX], *line, *rest;
	struct stat st;
	int bad;

	if (su_read(su, path, &old, e) < 0)
		return -1;
	line = find_line(old.data, name);
	rest = after_line(line ? line : old.data);
	if (!line)
		line = rest;
	bad = buf_add(&new, old.data, (size_t)(line - old.data));
	if (line > old.data && line[-1] != '\n')
		bad |= buf_adds(&new, "\n");
	if (bad | buf_adds(&new, entry) | buf_adds(&new, rest))
		return err_set(e, ERR_INVALID, "%s is too large", path);
	return su_write(su, path, new.data, stat(su_path(su, path, full), &st) == 0 ? st.st_mode & 07777 : mode, e);
}

/* Whether some line of a group file has this number. */
static bool gid_taken(char *text, unsigned long long gid)
{
	char have[24], want[24];

	snprintf(want, sizeof(want), "%llu", gid);
	for (char *line = text; *line; line = after_line(line))
		if (strcmp(field(line, 2, have, sizeof(have)), want) == 0)
			return true;
	return false;
}

static int put_own_group(const struct setup *su, const struct account *a, struct err *e)
{
	auto_buf text = BUF_INIT(SU_FILE_MAX);
	char entry[128];

	if (su_read(su, "/etc/group", &text, e) < 0)
		return -1;
	if (gid_taken(text.data, a->gid))
		return 0;
	snprintf(entry, sizeof(entry), "%s:x:%llu:\n", a->name, a->gid);
	return put_entry(su, "/etc/group", a->name, entry, 0644, e);
}

static bool is_member(const char *members, const char *name)
{
	size_t n = strlen(name);

	for (const char *p = members; *p; p += strcspn(p, ","), p += *p == ',')
		if (strncmp(p, name, n) == 0 && (p[n] == ',' || !p[n]))
			return true;
	return false;
}

/* The group that may use docker.sock. name "" = just make the group. */
static int put_docker_group(const struct setup *su, const char *name, struct err *e)
{
	auto_buf text = BUF_INIT(SU_FILE_MAX);
	char members[1024] = "", gid[24], entry[1200], *line;
	unsigned long long id = 102;

	if (su_read(su, "/etc/group", &text, e) < 0)
		return -1;
	line = find_line(text.data, "docker");
	if (line) {
		field(line, 2, gid, sizeof(gid));
		field(line, 3, members, sizeof(members));
	} else {
		while (gid_taken(text.data, id))
			id++;
		snprintf(gid, sizeof(gid), "%llu", id);
	}
	if (line && (!*name || is_member(members, name)))
		return 0;
	if (strlen(members) + strlen(name) + 2 > sizeof(members))
		return err_set(e, ERR_INVALID, "group docker has too many members");
	snprintf(entry, sizeof(entry), "docker:x:%s:%s%s%s\n", gid, members, *members && *name ? "," : "", name);
	return put_entry(su, "/etc/group", "docker", entry, 0644, e);
}

static int put_account(const struct setup *su, const struct account *a, struct err *e)
{
	auto_buf shadow = BUF_INIT(SU_FILE_MAX);
	char entry[1200];

	snprintf(entry, sizeof(entry), "%s:x:%llu:%llu:%s:%s:%s\n", a->name, a->uid, a->gid, a->comment, a->home,
		 a->shell);
	if (put_own_group(su, a, e) < 0 || put_entry(su, "/etc/passwd", a->name, entry, 0644, e) < 0 ||
	    su_read(su, "/etc/shadow", &shadow, e) < 0)
		return -1;
	/* A password somebody set in the guest stays. "*": none fits, but the account is not locked. */
	snprintf(entry, sizeof(entry), "%s:*::0:::::\n", a->name);
	if (!find_line(shadow.data, a->name) && put_entry(su, "/etc/shadow", a->name, entry, 0640, e) < 0)
		return -1;
	return 0;
}

static int make_home(const struct setup *su, const struct account *a, struct err *e)
{
	char path[SU_PATH_MAX];

	if (su_exists(su, a->home))
		return 0;
	if (su_mkdirs(su, a->home, 0700, e) < 0)
		return -1;
	return chown(su_path(su, a->home, path), (uid_t)a->uid, (gid_t)a->gid) < 0 ? err_errno(e, "%s", a->home) : 0;
}

/* XDG_RUNTIME_DIR of the user's scripts; on tmpfs, so made at each boot. */
static int make_runtime_dir(const struct setup *su, const struct account *a, struct err *e)
{
	char dir[40], path[SU_PATH_MAX];

	snprintf(dir, sizeof(dir), "/run/user/%llu", a->uid);
	if (su_mkdirs(su, dir, 0700, e) < 0)
		return -1;
	return chown(su_path(su, dir, path), (uid_t)a->uid, (gid_t)a->gid) < 0 ? err_errno(e, "%s", dir) : 0;
}

static int put_sudo(const struct setup *su, const struct account *a, struct err *e)
{
	char path[SU_PATH_MAX], rule[100];

	if (!su_flag(su, "user.sudo", true)) {
		if (unlink(su_path(su, SUDOERS, path)) < 0 && errno != ENOENT)
			return err_errno(e, "%s", path);
		return 0;
	}
	if (!su_exists(su, "/etc/sudoers.d"))
		return err_set(e, ERR_NOTFOUND, "the guest has no sudo");
	snprintf(rule, sizeof(rule), "%s ALL=(ALL:ALL) NOPASSWD: ALL\n", a->name);
	return su_write(su, SUDOERS, rule, 0440, e);
}

int setup_user(const struct setup *su, struct err *e)
{
	char home[64];
	struct account a = { .name = settings_get(su->settings, "user.name", "root"),
			     .shell = settings_get(su->settings, "user.shell", "/bin/sh"),
			     .comment = settings_get(su->settings, "user.comment", ""),
			     .uid = su_number(su, "user.uid", 1000) };

	if (strcmp(a.name, "root") == 0)
		return put_docker_group(su, "", e);
	if (!usable_name(a.name))
		return err_set(e, ERR_INVALID, "\"%.80s\" is no user name", a.name);
	snprintf(home, sizeof(home), "/home/%s.linux", a.name);
	a.home = settings_get(su->settings, "user.home", home);
	a.gid = su_number(su, "user.gid", a.uid);
	if (!usable_field(a.home) || a.home[0] != '/' || !usable_field(a.shell) || !usable_field(a.comment) ||
	    a.uid >= UINT32_MAX || a.gid >= UINT32_MAX)
		return err_set(e, ERR_INVALID, "uid, home, shell or comment of user %s is unusable", a.name);
	if (put_account(su, &a, e) < 0 || put_docker_group(su, a.name, e) < 0 || make_home(su, &a, e) < 0 ||
	    make_runtime_dir(su, &a, e) < 0)
		return -1;
	return put_sudo(su, &a, e);
}
