#include "guestagent/job.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "guestagent/pty.h"
#include "guestagent/user.h"
#include "lib/cleanup.h"
#include "lib/io.h"
#include "lib/shell_line.h"

enum { LINE_BYTES = 4 * EP_START_MAX + 4 * EP_ARGS_MAX }; /* every byte a quote */

/* --- the child --- */

struct launch {
	struct ga *ga;
	const struct ep_start *start;
	struct ga_user user;
	char shell[256];
	const char *line; /* NULL = interactive */
	int fd[3];
};

static _Noreturn void fail(const char *what)
{
	dprintf(STDERR_FILENO, "limactl-c: %s: %s\n", what, strerror(errno));
	_exit(errno == ENOENT ? 127 : 126);
}

static void set_descriptors(const struct launch *l)
{
	/* The daemon's own 0 to 2 are open, so none of ours is among them and none is overwritten. */
	for (int i = 0; i < 3; i++)
		if (dup2(l->fd[i], i) < 0)
			_exit(126);
	if (l->start->tty)
		ioctl(STDIN_FILENO, TIOCSCTTY, 0);
}

static void set_environment(const struct launch *l)
{
	const struct ep_start *s = l->start;

	ga_user_environment(&l->user, l->ga->settings, l->ga->run_dir);
	for (size_t i = 0; i < s->envc; i++) {
		char name[256];
		const char *eq = strchr(s->env[i], '=');

		if (!eq || eq == s->env[i] || (size_t)(eq - s->env[i]) >= sizeof(name))
			continue;
		memcpy(name, s->env[i], (size_t)(eq - s->env[i]));
		name[eq - s->env[i]] = '\0';
		setenv(name, eq + 1, 1);
	}
	if (l->shell[0] == '/')
		setenv("SHELL", l->shell, 1);
	if (s->tty && *s->term)
		setenv("TERM", s->term, 1);
}

static void set_directory(const struct launch *l)
{
	if (*l->start->workdir && chdir(l->start->workdir) == 0)
		return;
	if (l->start->only_there) {
		dprintf(STDERR_FILENO, "limactl-c: %s: %s\n", l->start->workdir, strerror(errno));
		_exit(1); /* as limactl's */
	}
	if (chdir(l->user.home) < 0 && chdir("/") < 0)
		fail("/");
}

/* Ourselves, by a name that holds wherever the program lies and whoever we are by now. */
static _Noreturn void run_files(const struct ep_start *s)
{
	char *argv[2 + EP_ARGS_MAX + 1] = { "lima-guestagent", "files" };

	for (size_t i = 0; i < s->argc; i++)
		argv[2 + i] = (char *)s->argv[i];
	execv("/proc/self/exe", argv);
	fail("files");
}

static _Noreturn void run_child(const struct launch *l)
{
	const char *base = strrchr(l->shell, '/');
	char argv0[260];

	setsid();
	set_descriptors(l);
	ga_child_signals();
	umask(022);
	if (ga_user_become(&l->user) < 0)
		fail("change to the instance's user");
	set_environment(l);
	set_directory(l);
	/* Last: while thousands of connections are open, nothing can be opened under the limit a command gets. */
	setrlimit(RLIMIT_NOFILE, &l->ga->files);
	if (l->start->files)
		run_files(l->start);
	snprintf(argv0, sizeof(argv0), "-%s", base ? base + 1 : l->shell);
	if (l->line)
		execlp(l->shell, base ? base + 1 : l->shell, "-l", "-c", l->line, (char *)NULL);
	else
		execlp(l->shell, argv0, (char *)NULL);
	fail(l->shell);
}

/* --- the parent --- */

static int open_pipes(struct launch *l, struct ga_job_fds *ours, struct err *e)
{
	int p[3][2];

	for (int i = 0; i < 3; i++) {
		if (pipe2(p[i], O_CLOEXEC) == 0)
			continue;
		err_errno(e, "pipe");
		while (i-- > 0) {
			close(p[i][0]);
			close(p[i][1]);
		}
		return -1;
	}
	l->fd[0] = p[0][0];
	l->fd[1] = p[1][1];
	l->fd[2] = p[2][1];
	*ours = (struct ga_job_fds){ p[0][1], p[1][0], p[2][0] };
	io_set_nonblock(ours->in, true);
	io_set_nonblock(ours->out, true);
	io_set_nonblock(ours->err, true);
	return 0;
}

static int open_terminal(struct launch *l, struct ga_job_fds *ours, struct err *e)
{
	int master, slave;

	if (ga_pty_open(&master, &slave, l->user.uid, e) < 0)
		return -1;
	*ours = (struct ga_job_fds){ fcntl(master, F_DUPFD_CLOEXEC, 0), master, -1 };
	if (ours->in < 0) {
		err_errno(e, "dup");
		close(master);
		close(slave);
		return -1;
	}
	if (l->start->rows && l->start->cols)
		ga_pty_resize(master, l->start->rows, l->start->cols);
	l->fd[0] = l->fd[1] = l->fd[2] = slave;
	return 0;
}

static int choose_shell(struct launch *l, struct err *e)
{
	const char *shell = *l->start->shell ? l->start->shell : l->user.shell;

	if (snprintf(l->shell, sizeof(l->shell), "%s", shell) >= (int)sizeof(l->shell))
		return err_set(e, ERR_INVALID, "the shell's path is too long");
	if (!strchr(l->shell, '/'))
		return 0; /* the child looks for it in the PATH it will have */
	if (l->shell[0] != '/' || access(l->shell, X_OK) < 0)
		return err_set(e, ERR_NOTFOUND, "the guest has no shell \"%s\"", l->shell);
	return 0;
}

static int prepare(struct launch *l, struct buf *line, struct ga_job_fds *fds, struct err *e)
{
	const struct ep_start *s = l->start;

	if (ga_user_find(&l->user, l->ga->settings, s->as_root, e) < 0 || (!s->files && choose_shell(l, e) < 0))
		return -1;
	if (s->argc && !s->files && shell_line(line, s->argv, s->argc) < 0)
		return err_set(e, ERR_INVALID, "the command is too long");
	l->line = line->data;
	return s->tty ? open_terminal(l, fds, e) : open_pipes(l, fds, e);
}

pid_t ga_job_start(struct ga *ga, const struct ep_start *s, struct ga_job_fds *fds, struct err *e)
{
	struct launch l = { .ga = ga, .start = s };
	auto_buf line = BUF_INIT(LINE_BYTES);
	pid_t pid;

	if (prepare(&l, &line, fds, e) < 0)
		return -1;
	pid = fork();
	if (pid == 0)
		run_child(&l);
	if (pid < 0)
		err_errno(e, "fork");
	close(l.fd[0]);
	if (!s->tty) {
		close(l.fd[1]);
		close(l.fd[2]);
	}
	if (pid < 0) {
		close(fds->in);
		close(fds->out);
		if (fds->err >= 0)
			close(fds->err);
	}
	return pid;
}
