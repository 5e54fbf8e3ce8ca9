#include "guestagent/user.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "guestagent/setup.h"
#include "lib/cleanup.h"
#include "lib/io.h"

/* Copies value, or otherwise when there is none; -1 when it does not fit. */
static int take(char *dst, size_t size, const char *value, const char *otherwise)
{
	if (!value || !*value)
		value = otherwise;
	return snprintf(dst, size, "%s", value) < (int)size ? 0 : -1;
}

static unsigned take_id(const char *value, unsigned otherwise)
{
	char *end;
	unsigned long n;

	if (!value || !*value)
		return otherwise;
	n = strtoul(value, &end, 10);
	/* The last id means "no change" to the kernel. */
	return *end || n >= UINT32_MAX ? otherwise : (unsigned)n;
}

int ga_user_find(struct ga_user *u, const struct settings *s, bool root, struct err *e)
{
	const char *name = root ? "root" : settings_get(s, "user.name", "root");
	const struct passwd *pw = getpwnam(name);
	bool is_root = strcmp(name, "root") == 0;
	const char *home = pw ? pw->pw_dir : is_root ? "/root" : "/";

#define USER_SETTING(key) (root ? NULL : settings_get(s, key, NULL))
	if (!pw && !is_root && !USER_SETTING("user.uid"))
		return err_set(e, ERR_NOTFOUND, "the guest has no user \"%s\"", name);
	u->uid = take_id(USER_SETTING("user.uid"), pw ? pw->pw_uid : 0);
	u->gid = take_id(USER_SETTING("user.gid"), pw ? pw->pw_gid : u->uid);
	if (take(u->name, sizeof(u->name), name, "root") < 0 ||
	    take(u->home, sizeof(u->home), USER_SETTING("user.home"), home) < 0 ||
	    take(u->shell, sizeof(u->shell), USER_SETTING("user.shell"), pw ? pw->pw_shell : "/bin/sh") < 0)
		return err_set(e, ERR_INVALID, "name, home or shell of user \"%.64s\" is too long", name);
#undef USER_SETTING
	/* A template made for another distribution may name a shell this guest has not. */
	if (access(u->shell, X_OK) < 0)
		take(u->shell, sizeof(u->shell), NULL, "/bin/sh");
	return 0;
}

int ga_user_become(const struct ga_user *u)
{
	if (geteuid() != 0)
		return 0;
	if (initgroups(u->name, u->gid) < 0 || setgid(u->gid) < 0)
		return -1;
	return setuid(u->uid);
}

int ga_user_call(const struct ga_user *u, int (*fn)(const void *arg, struct err *e), const void *arg, struct err *e)
{
	int fd[2], status;
	pid_t pid;
	ssize_t n;

	*e = (struct err){ 0 };
	if (io_pipe(fd, e) < 0)
		return -1;
	pid = fork();
	if (pid == 0) {
		int rc = ga_user_become(u) < 0 ? err_errno(e, "cannot become user %s", u->name) : fn(arg, e);

		if (rc < 0)
			io_write_full(fd[1], e, sizeof(*e));
		_exit(rc < 0);
	}
	if (pid < 0)
		err_errno(e, "fork");
	close(fd[1]);
	n = pid < 0 ? 0 : io_read_full(fd[0], e, sizeof(*e));
	close(fd[0]);
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (pid > 0 && n == 0 && !(WIFEXITED(status) && WEXITSTATUS(status) == 0))
		err_set(e, ERR_SYS, "a child for user %s ended early", u->name);
	return e->kind ? -1 : 0;
}

/* The PATH that setup decided on, for it knows where the engine's programs are. */
static void set_path(const char *run_dir)
{
	char path[300], text[1024];
	auto_close int fd = -1;
	ssize_t n;

	snprintf(path, sizeof(path), "%s/path", run_dir);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd >= 0 ? io_read_full(fd, text, sizeof(text) - 1) : 0;
	text[n > 0 ? n : 0] = '\0';
	text[strcspn(text, "\n")] = '\0';
	setenv("PATH", *text ? text : SETUP_PATH, 1);
}

/* Where the user's own services have their sockets. A login has it from PAM, and who has no such folder has no services. */
static void set_runtime_dir(const struct ga_user *u)
{
	char path[40];
	struct stat st;

	snprintf(path, sizeof(path), "/run/user/%u", (unsigned)u->uid);
	if (lstat(path, &st) == 0 && S_ISDIR(st.st_mode) && st.st_uid == u->uid)
		setenv("XDG_RUNTIME_DIR", path, 1);
}

void ga_user_environment(const struct ga_user *u, const struct settings *s, const char *run_dir)
{
	clearenv();
	setenv("HOME", u->home, 1);
	setenv("USER", u->name, 1);
	setenv("LOGNAME", u->name, 1);
	setenv("SHELL", u->shell, 1);
	set_path(run_dir);
	set_runtime_dir(u);
	for (size_t i = 0; i < s->count; i++)
		if (strncmp(s->item[i].key, "env.", 4) == 0)
			setenv(s->item[i].key + 4, s->item[i].value, 1);
}

void ga_child_signals(void)
{
	sigset_t none;

	signal(SIGPIPE, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

void ga_child_alone(const struct rlimit *files, unsigned first)
{
	setsid();
	ga_child_signals();
	syscall(SYS_close_range, first, ~0U, 0U);
	setrlimit(RLIMIT_NOFILE, files);
}

void ga_child_fix_addresses(const struct settings *s)
{
	if (settings_true(s, "emulated"))
		personality(ADDR_NO_RANDOMIZE);
}
