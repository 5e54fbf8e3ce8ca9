#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/cleanup.h"
#include "limactl-c/cli/cmd.h"
#include "limactl-c/cli/exec.h"
#include "limactl-c/cli/haclient.h"
#include "limactl-c/cli/launch.h"
#include "limactl-c/cli/make.h"
#include "limactl-c/cli/say.h"
#include "limactl-c/cli/setup.h"
#include "limactl-c/cli/shell_env.h"
#include "limactl-c/cli/terminal.h"
#include "limactl-c/cli/workdir.h"
#include "limactl-c/store/inst.h"

extern char **environ;

struct shell_opts {
	const char *shell, *workdir, *instance;
	bool preserve_env, start, reconnect;
};

/* "lima start" runs a command "start" in the guest. */
static void warn_of_command(const char *word)
{
	static const char *const ours[] = { "create", "delete", "shell", "start" };

	for (size_t i = 0; i < sizeof(ours) / sizeof(*ours); i++)
		if (!strcmp(word, ours[i]))
			say_warn("\"%s\" is run in the guest. Perhaps you meant `limactl-c %s`?", word, word);
}

static int fill_command(struct ep_start *s, char **word, struct err *e)
{
	/* "--" may set them apart. */
	if (*word && !strcmp(*word, "--"))
		word++;
	if (*word)
		warn_of_command(*word);
	for (; *word; word++) {
		if (s->argc == EP_ARGS_MAX)
			return err_set(e, ERR_USAGE, "shell: at most %d arguments are possible", EP_ARGS_MAX);
		s->argv[s->argc++] = *word;
	}
	return 0;
}

static void fill_terminal(struct ep_start *s, enum opt_tristate tty)
{
	const char *term = getenv("TERM");

	s->tty = tty == OPT_YES || (tty == OPT_UNSET && isatty(STDIN_FILENO) && isatty(STDOUT_FILENO));
	s->term = s->tty ? term && *term ? term : "xterm" : "";
	terminal_size(&s->rows, &s->cols);
}

/* How many colours a terminal has goes along with its name. */
static int fill_environment(struct ep_start *s, bool preserve, struct err *e)
{
	ssize_t n = shell_env_pick(environ, "COLORTERM", NULL, s->env, 1, e);

	if (n < 0)
		return -1;
	s->envc = (size_t)n;
	if (!preserve)
		return 0;
	n = shell_env_pick(environ, getenv("LIMA_SHELLENV_ALLOW"), getenv("LIMA_SHELLENV_BLOCK"), s->env + s->envc,
			   EP_ENV_MAX - s->envc, e);
	if (n < 0)
		return -1;
	s->envc += (size_t)n;
	return 0;
}

/* Where we are, as the guest sees it; NULL: at home. Nothing that is wrong here keeps a command from being run. */
static char *place(const struct inst *i)
{
	auto_free char *here = getcwd(NULL, 0);
	auto_setup s = SETUP_INIT;
	struct err ignored = { 0 };

	s.quiet = true;
	if (!here || setup_read_inst(&s, i, &ignored) < 0 || setup_check_quietly(&s, &ignored) < 0)
		return NULL;
	return workdir_map(&s.cfg, here);
}

static int run_in(const struct inst *i, char **word, const struct call *call, struct err *e)
{
	const struct shell_opts *o = call->opts;
	const char *workdir = o->workdir && *o->workdir ? o->workdir : NULL; /* as Lima takes it */
	struct ep_start start = { .only_there = workdir != NULL, .shell = o->shell ? o->shell : "" };
	auto_buf early = BUF_INIT(256 * 1024);
	auto_free char *here = NULL;
	auto_close int fd = -1;
	int code;

	if (fill_command(&start, word, e) < 0 || fill_environment(&start, o->preserve_env, e) < 0)
		return -1;
	fill_terminal(&start, call->tty);
	fd = hac_exec(i->dir, &early, e);
	if (fd < 0)
		return hac_not_running(i, e);
	/* Read while the guest is being told that there will be something to do. */
	here = workdir ? NULL : place(i);
	start.workdir = workdir ? workdir : here ? here : "";
	code = exec_run(fd, &early, &start, e);
	return code < 0 && e->kind != ERR_USAGE ? EXEC_LOST : code;
}

/* --start: it runs when this returns 0. */
static int start_first(const struct inst *i, struct err *e)
{
	static const struct setup_rules rules;

	switch (inst_status(i)) {
	case INST_RUNNING:
		return 0;
	case INST_ORPHAN:
		return launch(i, 0, false, e);
	default:
		return make_ready(i, NULL, &rules, e) < 0 ? -1 : launch(i, 0, false, e);
	}
}

static int run(const struct call *call, struct err *e)
{
	const struct shell_opts *o = call->opts;
	struct inst i;
	int code;

	if (!o->instance && !call->args)
		return err_set(e, ERR_USAGE, "shell: INSTANCE is missing, see limactl-c shell --help");
	if (inst_open(o->instance ? o->instance : call->arg[0], &i, e) < 0)
		return -1;
	code = o->start ? start_first(&i, e) : 0;
	if (code == 0)
		code = run_in(&i, call->arg + (o->instance ? 0 : 1), call, e);
	inst_fini(&i);
	return code;
}

static const struct opt opts[] = {
	{ "shell", 0, OPT_STRING, offsetof(struct shell_opts, shell), "PATH", .help = "instead of the user's login shell" },
	{ "workdir", 0, OPT_STRING, offsetof(struct shell_opts, workdir), "DIR",
	  .help = "a folder of the guest; when it is not there nothing is run" },
	{ "preserve-env", 0, OPT_FLAG, offsetof(struct shell_opts, preserve_env),
	  .help = "take the environment along (LIMA_SHELLENV_ALLOW, LIMA_SHELLENV_BLOCK)" },
	{ "start", 0, OPT_FLAG, offsetof(struct shell_opts, start), .help = "start the instance first when it is stopped" },
	{ "reconnect", 0, OPT_FLAG, offsetof(struct shell_opts, reconnect),
	  .help = "begin a session of its own, which is always done" },
	{ "instance", 0, OPT_STRING, offsetof(struct shell_opts, instance), "INSTANCE",
	  .help = "the instance; all arguments are the command" },
	{ 0 },
};

const struct cmd cmd_shell = {
	.name = "shell",
	.args = "INSTANCE [--] [COMMAND...]",
	.summary = "Run a command, or a login shell, in an instance",
	.opt = opts,
	.opts_size = sizeof(struct shell_opts),
	.most = CMD_ARGS_ANY,
	.in_order = true,
	.run = run,
};
