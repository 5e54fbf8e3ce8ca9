/* setup_cron.c - crond in a lean guest, but only when there is something for it: one that looks every minute for nothing
 * would keep the guest awake. */
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "guestagent/setup.h"
#include "guestagent/setup_steps.h"
#include "lib/cleanup.h"
#include "lib/io.h"

#define CRONTABS "/etc/crontabs"
#define PERIODIC "/etc/periodic"
#define ENTRY "::respawn:" RUN_DIR "/agent service crond\n"

/* Whether a line asks for something but what the distribution's own crontab does: run what lies in /etc/periodic. */
static bool asks(const char *line)
{
	line += strspn(line, " \t");
	return *line && *line != '#' && !strstr(line, "run-parts " PERIODIC "/");
}

static bool has_lines(const struct setup *su, const char *name)
{
	auto_buf text = BUF_INIT(SU_FILE_MAX);
	char path[SU_PATH_MAX], *save = NULL;
	struct err e;

	snprintf(path, sizeof(path), CRONTABS "/%s", name);
	/* Where crontab(1) tells a running crond whose table has changed. */
	if (strcmp(name, "cron.update") == 0)
		return false;
	if (su_read(su, path, &text, &e) < 0)
		return false;
	for (char *line = strtok_r(text.data, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
		if (asks(line))
			return true;
	return false;
}

/* The first name in a folder for which fn is true. */
static bool any(const struct setup *su, const char *folder, bool (*fn)(const struct setup *su, const char *name))
{
	char path[SU_PATH_MAX];
	auto_closedir DIR *dir = opendir(su_path(su, folder, path));
	struct dirent *d;

	while (dir && (d = readdir(dir)))
		if (d->d_name[0] != '.' && fn(su, d->d_name))
			return true;
	return false;
}

static bool is_there(const struct setup *su, const char *name)
{
	(void)su;
	(void)name;
	return true;
}

static bool has_scripts(const struct setup *su, const char *name)
{
	char path[SU_PATH_MAX];

	snprintf(path, sizeof(path), PERIODIC "/%s", name);
	return any(su, path, is_there);
}

bool setup_wants_cron(const struct setup *su)
{
	return any(su, CRONTABS, has_lines) || any(su, PERIODIC, has_scripts);
}

int setup_cron(const struct setup *su, struct err *e)
{
	char path[SU_PATH_MAX];
	auto_close int fd = -1;

	if (!setup_wants_cron(su))
		return 0;
	/* In place: it is bound over /etc/inittab. Init looks at it again when this run of ours is over. */
	fd = open(su_path(su, RUN_DIR "/inittab", path), O_WRONLY | O_APPEND | O_CLOEXEC);
	if (fd < 0 || io_write_full(fd, ENTRY, strlen(ENTRY)) < 0)
		return err_errno(e, "%s", path);
	return *su->root || kill(1, SIGHUP) == 0 ? 0 : err_errno(e, "cannot tell init of crond");
}
