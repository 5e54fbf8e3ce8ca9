/* What a script starts with: user, environment, folder, descriptors. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "guestagent/script.h"
#include "guestagent/user.h"
#include "lib/io.h"
#include "lib/shell_line.h"

enum { LINE_MAX_BYTES = 2048 };

/* The package manager that is there; one that cannot finish for a lock or a prompt must not hang. */
static const char upgrade[] =
	"set -e\n"
	"if command -v apk; then apk update; apk upgrade\n"
	"elif command -v apt-get; then\n"
	"  export DEBIAN_FRONTEND=noninteractive\n"
	"  apt-get update; apt-get -y -o Dpkg::Options::=--force-confold dist-upgrade\n"
	"elif command -v dnf; then dnf -y upgrade\n"
	"elif command -v zypper; then zypper --non-interactive update\n"
	"elif command -v pacman; then pacman -Syu --noconfirm\n"
	"else echo 'no package manager is known in this guest'; exit 1\n"
	"fi >/dev/null\n";

void script_path(const struct script *sc, const char *suffix, char *path, size_t size)
{
	snprintf(path, size, "%s/provision/%02d%s", sc->run_dir, sc->index, suffix);
}

static _Noreturn void fail(const char *what)
{
	dprintf(STDERR_FILENO, "%s: %s\n", what, strerror(errno));
	_exit(errno == ENOENT ? 127 : 126);
}

static void copy_path(const struct ga_user *u, char *path, size_t size)
{
	snprintf(path, size, "%s/.lima-user-script", u->home);
}

/* A user may not read what is in the run folder. Lima's place for it, so that scripts find what they expect in $0. */
static void copy_script(int from, const char *path)
{
	char bytes[4096];
	ssize_t n;
	int fd;

	unlink(path);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0755);
	if (fd < 0)
		fail(path);
	while ((n = io_read_full(from, bytes, sizeof(bytes))) > 0)
		if (io_write_full(fd, bytes, (size_t)n) < 0)
			fail(path);
	fchmod(fd, 0755);
	close(fd);
}

static int remove_copy(const void *arg, struct err *e)
{
	char path[300];

	copy_path(arg, path, sizeof(path));
	return unlink(path) < 0 ? err_errno(e, "%s", path) : 0;
}

void script_remove_copy(const struct script *sc)
{
	struct ga_user user;
	struct err e;

	if (ga_user_find(&user, sc->settings, false, &e) == 0)
		ga_user_call(&user, remove_copy, &user, &e);
}

static void set_environment(const struct script *sc, const struct ga_user *u)
{
	const struct settings *s = sc->settings;
	char value[64];

	ga_user_environment(u, s, sc->run_dir);
	for (size_t i = 0; i < s->count; i++) {
		char name[128];

		if (strncmp(s->item[i].key, "param.", 6) == 0 &&
		    snprintf(name, sizeof(name), "PARAM_%s", s->item[i].key + 6) < (int)sizeof(name))
			setenv(name, s->item[i].value, 1);
	}
	if (!sc->as_user)
		return;
	snprintf(value, sizeof(value), "/run/user/%u", (unsigned)u->uid);
	setenv("XDG_RUNTIME_DIR", value, 1);
}

static void set_descriptors(int log)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	dup2(null, STDIN_FILENO);
	dup2(log >= 0 ? log : null, STDOUT_FILENO);
	dup2(log >= 0 ? log : null, STDERR_FILENO);
}

static _Noreturn void execute(const char *path)
{
	execl(path, path, (char *)NULL);
	if (errno == ENOEXEC || errno == EACCES)
		execl("/bin/sh", "sh", path, (char *)NULL);
	fail(path);
}

/* By the login shell, which reads the user's profile first. */
static _Noreturn void execute_as(const struct ga_user *u, const char *path)
{
	const char *base = strrchr(u->shell, '/'), *argv[] = { path };
	struct buf line = BUF_INIT(LINE_MAX_BYTES);

	if (shell_line(&line, argv, 1) < 0)
		_exit(126);
	execl(u->shell, base ? base + 1 : u->shell, "-l", "-c", line.data, (char *)NULL);
	fail(u->shell);
}

void script_become(const struct script *sc)
{
	struct ga_user user;
	struct err e;
	char path[300], copy[300];
	int fd;

	ga_child_signals();
	setsid();
	set_descriptors(sc->log);
	if (ga_user_find(&user, sc->settings, !sc->as_user, &e) < 0) {
		dprintf(STDERR_FILENO, "%s\n", e.msg);
		_exit(126);
	}
	script_path(sc, "", path, sizeof(path));
	umask(022);
	set_environment(sc, &user);
	fd = sc->as_user ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	if (sc->as_user && (fd < 0 || ga_user_become(&user) < 0))
		fail(path);
	if (chdir(user.home) < 0 && chdir("/") < 0)
		fail(user.home);
	if (sc->index == AP_PROVISION_UPGRADE)
		execl("/bin/sh", "sh", "-c", upgrade, (char *)NULL);
	if (!sc->as_user) {
		chmod(path, 0700);
		execute(path);
	}
	copy_path(&user, copy, sizeof(copy));
	copy_script(fd, copy);
	execute_as(&user, copy);
}
