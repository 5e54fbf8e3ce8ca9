#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/cleanup.h"
#include "limactl-c/cli/cmd.h"
#include "limactl-c/cli/exec.h"
#include "limactl-c/cli/haclient.h"
#include "limactl-c/store/inst.h"

/* Why nobody answered, in terms of the instance. */
static int not_running(const struct inst *i, struct err *e)
{
	switch (inst_status(i)) {
	case INST_RUNNING:
		return err_wrap(e, "instance \"%s\"", i->name);
	case INST_ORPHAN:
		return err_set(e, ERR_STATE, "the machine of instance \"%s\" runs without its host agent: `limactl-c start "
			       "%s` takes it over", i->name, i->name);
	default:
		return err_set(e, ERR_STATE, "instance \"%s\" is stopped, run `limactl-c start %s` to start it", i->name,
			       i->name);
	}
}

static int fill_command(struct ep_start *s, const struct call *call, struct err *e)
{
	/* The words behind the name; "--" may set them apart. */
	char **word = call->arg + 1;

	if (*word && !strcmp(*word, "--"))
		word++;
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
	exec_window(&s->rows, &s->cols);
}

static int run_in(const struct inst *i, const struct call *call, struct err *e)
{
	struct ep_start start = { .term = "", .workdir = "", .shell = "" };
	auto_buf early = BUF_INIT(256 * 1024);
	auto_close int fd = -1;
	int code;

	if (fill_command(&start, call, e) < 0)
		return -1;
	fill_terminal(&start, call->tty);
	fd = hac_exec(i->dir, &early, e);
	if (fd < 0)
		return not_running(i, e);
	code = exec_run(fd, &early, &start, e);
	return code < 0 && e->kind != ERR_USAGE ? EXEC_LOST : code;
}

static int run(const struct call *call, struct err *e)
{
	struct inst i;
	int code;

	if (inst_open(call->arg[0], &i, e) < 0)
		return -1;
	code = run_in(&i, call, e);
	inst_fini(&i);
	return code;
}

const struct cmd cmd_shell = {
	.name = "shell",
	.args = "INSTANCE [--] [COMMAND...]",
	.summary = "Run a command, or a login shell, in an instance",
	.least = 1,
	.most = CMD_ARGS_ANY,
	.in_order = true,
	.run = run,
};
