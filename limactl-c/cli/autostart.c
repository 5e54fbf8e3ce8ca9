#include "limactl-c/cli/autostart.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/cleanup.h"
#include "lib/io.h"
#include "limactl-c/base/fs.h"
#include "limactl-c/base/mem.h"
#include "limactl-c/base/prefix.h"
#include "limactl-c/base/spawn.h"
#include "limactl-c/cli/say.h"
#include "limactl-c/store/paths.h"

enum { RELOAD_SECONDS = 20 };

extern char **environ;

enum autostart_system autostart_host(void)
{
#ifdef __APPLE__
	return AUTOSTART_LAUNCHD;
#else
	return AUTOSTART_SYSTEMD;
#endif
}

/* The folder entries lie in, malloc'd. */
static char *entries(struct err *e)
{
	const char *config = getenv("XDG_CONFIG_HOME");
	auto_free char *home = NULL;

	if (autostart_host() == AUTOSTART_SYSTEMD && config && *config == '/')
		return xasprintf("%s/systemd/user", config);
	home = paths_user_home(e);
	if (!home)
		return NULL;
	return autostart_host() == AUTOSTART_SYSTEMD ? xasprintf("%s/.config/systemd/user", home) :
						       xasprintf("%s/Library/LaunchAgents", home);
}

/* An instance's entry and, with systemd, the link that makes the login want it; malloc'd. */
struct entry {
	char *dir, *file, *wants, *link, *target;
};

static void entry_free(struct entry *p)
{
	free(p->dir);
	free(p->file);
	free(p->wants);
	free(p->link);
	free(p->target);
}
#define auto_entry CLEANUP(entry_free) struct entry

static int entry_of(const char *name, struct entry *p, struct err *e)
{
	*p = (struct entry){ 0 };
	p->dir = entries(e);
	if (!p->dir)
		return -1;
	if (autostart_host() == AUTOSTART_LAUNCHD) {
		p->file = xasprintf("%s/io.limactl-c.autostart.%s.plist", p->dir, name);
		return 0;
	}
	p->file = xasprintf("%s/limactl-c@%s.service", p->dir, name);
	p->wants = xasprintf("%s/default.target.wants", p->dir);
	p->link = xasprintf("%s/limactl-c@%s.service", p->wants, name);
	p->target = xasprintf("../limactl-c@%s.service", name);
	return 0;
}

int autostart_describe(const char *name, struct autostart *a, char **program, char **home, struct err *e)
{
	auto_free char *prefix = prefix_dir(e);

	*program = prefix ? xasprintf("%s/bin/limactl-c", prefix) : NULL;
	*home = paths_home(e);
	*a = (struct autostart){ .system = autostart_host(), .program = *program, .home = *home, .name = name,
				 .env = (const char *const *)environ };
	return *program && *home ? 0 : -1;
}

/* 1: there is an entry, for an instance in this LIMA_HOME; 0: there is none; *others: there is one, of another LIMA_HOME. */
static int look(const struct autostart *a, const struct entry *p, bool *others, struct err *e)
{
	auto_buf have = BUF_INIT(AUTOSTART_TEXT_MAX);

	*others = false;
	if (io_read_file(p->file, &have, e) < 0) {
		if (e->errnum != ENOENT)
			return -1;
		*e = (struct err){ 0 };
		return 0;
	}
	*others = !have.data || !autostart_is_of(a, have.data);
	return !*others;
}

/* A manager that runs reads entries when it is told; another reads them when it starts. */
static void tell_manager(const struct entry *p)
{
	const char *runtime = getenv("XDG_RUNTIME_DIR");
	auto_free char *manager = runtime ? xasprintf("%s/systemd/private", runtime) : NULL;
	struct spawn s = { .argv = (const char *const[]){ "systemctl", "--user", "daemon-reload", NULL }, .seconds = RELOAD_SECONDS };
	struct err e = { 0 };

	if (p->link && manager && fs_exists(manager) && spawn_run(&s, NULL, &e) != 0)
		say_warn("systemd does not know of it before you log in again: %s", e.msg);
}

static int write_entry(const struct entry *p, const struct buf *text, struct err *e)
{
	if (fs_mkdirs(p->dir, 0755, e) < 0 || fs_write_atomic(p->file, text->data, text->len, 0600, e) < 0)
		return -1;
	if (!p->link)
		return 0;
	if (fs_mkdirs(p->wants, 0755, e) < 0)
		return -1;
	return symlink(p->target, p->link) < 0 && errno != EEXIST ? fs_error("create", p->link, e) : 0;
}

int autostart_enable(const char *name, struct err *e)
{
	auto_free char *program = NULL, *home = NULL;
	auto_buf text = BUF_INIT(AUTOSTART_TEXT_MAX);
	struct autostart a;
	auto_entry p = { 0 };
	bool others;

	if (entry_of(name, &p, e) < 0 || autostart_describe(name, &a, &program, &home, e) < 0 || autostart_text(&a, &text, e) < 0 ||
	    look(&a, &p, &others, e) < 0)
		return -1;
	if (others)
		return err_set(e, ERR_EXISTS, "%s starts an instance \"%s\" of another LIMA_HOME: `limactl-c autostart disable %s` "
			       "with that LIMA_HOME removes it", p.file, name, name);
	if (write_entry(&p, &text, e) < 0)
		return -1;
	tell_manager(&p);
	return 0;
}

/* The instance's entry, and whether it is there: 1, 0, -1. */
static int find(const char *name, struct entry *p, struct err *e)
{
	auto_free char *program = NULL, *home = NULL;
	struct autostart a;
	bool others;

	if (entry_of(name, p, e) < 0 || autostart_describe(name, &a, &program, &home, e) < 0)
		return -1;
	return look(&a, p, &others, e);
}

int autostart_is_enabled(const char *name, struct err *e)
{
	auto_entry p = { 0 };

	return find(name, &p, e);
}

int autostart_disable(const char *name, struct err *e)
{
	auto_entry p = { 0 };
	int there = find(name, &p, e);

	if (there <= 0)
		return there;
	if (p.link && unlink(p.link) < 0 && errno != ENOENT)
		return err_errno(e, "remove %s", p.link);
	if (unlink(p.file) < 0 && errno != ENOENT)
		return err_errno(e, "remove %s", p.file);
	tell_manager(&p);
	return 1;
}
