/* main.c - argv to a command's row to an exit code; the only place that prints an error. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/cleanup.h"
#include "lib/io.h"
#include "limactl-c/base/mem.h"
#include "limactl-c/cli/cmd.h"
#include "limactl-c/cli/say.h"

/* The command the words name, going into groups as far as they go; *words says how many that took. NULL with *e. */
static const struct cmd *resolve(char **word, int count, int *words, struct err *e)
{
	const struct cmd *c = NULL;

	for (*words = 0; *words < count && (!c || (c->sub && *word[*words] != '-')); ++*words)
		if (!(c = cmd_find(c, word[*words], e)))
			return NULL;
	return c;
}

static int show_help(int count, char **word, struct err *e)
{
	int words;
	const struct cmd *c = resolve(word, count, &words, e);

	if (count && !c)
		return -1;
	cmd_print_help(c);
	return 0;
}

static int check_count(const struct cmd *c, size_t n, struct err *e)
{
	if (n < c->least)
		return err_set(e, ERR_USAGE, "%s: %s is missing, see limactl-c %s --help", c->name, c->args, c->name);
	if (n > c->most)
		return err_set(e, ERR_USAGE, "%s: takes at most %zu argument%s, not %zu", c->name, c->most,
			       c->most == 1 ? "" : "s", n);
	return 0;
}

/* A mistake in a later option is told in the way the earlier ones ask for. */
static int parse(const struct opt_set *set, size_t sets, bool in_order, struct cmd_global *g, int argc, char **argv,
		 struct err *e)
{
	int first = opts_parse(set, sets, in_order, argc, argv, e);

	if (g->log_format)
		say_json(!strcmp(g->log_format, "json"));
	if (g->log_level)
		say_least(g->log_level);
	if (g->debug)
		say_least("debug");
	if (first >= 0 && g->yes && g->tty)
		return err_set(e, ERR_USAGE, "--yes and --tty say the same: give one of them");
	return first;
}

static int run_command(const struct cmd *c, struct cmd_global *g, int argc, char **argv, struct err *e)
{
	auto_free char *opts = xcalloc(1, c->opts_size);
	struct opt_set sets[1 + CMD_TABLES] = { { cmd_global_opts, g } };
	const struct opt *table[CMD_TABLES];
	size_t at[CMD_TABLES], tables = cmd_tables(c, table, at);
	struct call call = { .opts = opts };
	int first;

	for (size_t i = 0; i < tables; i++)
		sets[1 + i] = (struct opt_set){ table[i], opts + at[i] };
	first = parse(sets, 1 + tables, c->in_order, g, argc, argv, e);
	if (first < 0)
		return err_wrap(e, "%s", c->name);
	if (g->help || c->sub) {
		cmd_print_help(c);
		return 0;
	}
	call.arg = argv + first;
	call.args = (size_t)(argc - first);
	call.tty = g->yes ? OPT_NO : g->tty;
	return check_count(c, call.args, e) < 0 ? -1 : c->run(&call, e);
}

static int run(int argc, char **argv, struct err *e)
{
	struct cmd_global g = { 0 };
	const struct opt_set sets[] = { { cmd_global_opts, &g }, { cmd_top_opts, &g } };
	int first = parse(sets, 2, true, &g, argc, argv, e);
	const struct cmd *c;
	int words;

	if (first < 0)
		return -1;
	argv += first;
	argc -= first;
	if (g.version) {
		puts("limactl-c version " VERSION);
		return 0;
	}
	if (argc == 0 || !strcmp(argv[0], "help"))
		return show_help(argc ? argc - 1 : 0, argv + 1, e);
	c = resolve(argv, argc, &words, e);
	return c ? run_command(c, &g, argc - words + 1, argv + words - 1, e) : -1;
}

int main(int argc, char **argv)
{
	struct err e = { 0 };
	int code;

	io_keep_std();
	say_start();
	code = run(argc, argv, &e);
	if (code == 0 && fflush(stdout) != 0)
		code = err_errno(&e, "standard output");
	if (code && e.kind != ERR_NONE)
		say(SAY_FATAL, "%s", e.msg);
	return code < 0 ? 1 : code;
}
