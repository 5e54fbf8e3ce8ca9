#include <stdio.h>
#include <string.h>

#include "limactl-c/base/text.h"
#include "limactl-c/cli/cmd.h"
#include "limactl-c/cli/say.h"

static const struct cmd *const cmds[] = {
	&cmd_create,
	&cmd_start,
	&cmd_stop,
	&cmd_restart,
	&cmd_pause,
	&cmd_resume,
	&cmd_suspend,
	&cmd_idle,
	&cmd_edit,
	&cmd_clone,
	&cmd_rename,
	&cmd_shell,
	&cmd_copy,
	&cmd_show_ssh,
	&cmd_tunnel,
	&cmd_list,
	&cmd_delete,
	&cmd_factory_reset,
	&cmd_autostart,
	&cmd_protect,
	&cmd_unprotect,
	&cmd_snapshot,
	&cmd_disk,
	&cmd_prune,
	&cmd_validate,
	&cmd_template,
	&cmd_jsonschema,
	&cmd_info,
	&cmd_watch,
	&cmd_completion,
	&cmd_complete,
	&cmd_start_at_login,
	&cmd_yq_file,
	NULL,
};

const struct opt cmd_global_opts[] = {
	{ "debug", 0, OPT_FLAG, offsetof(struct cmd_global, debug), .help = "the same as --log-level debug" },
	{ "help", 'h', OPT_FLAG, offsetof(struct cmd_global, help), .help = "show help" },
	{ "log-format", 0, OPT_WORD, offsetof(struct cmd_global, log_format), "FORMAT",
	  .help = "of messages: text or json", .words = "text|json" },
	{ "log-level", 0, OPT_WORD, offsetof(struct cmd_global, log_level), "LEVEL",
	  .help = "least to be said: trace, debug, info, warn, error", .words = SAY_LEVEL_WORDS },
	{ "tty", 0, OPT_TRISTATE, offsetof(struct cmd_global, tty),
	  .help = "use a terminal's ways (default: when standard output is one)" },
	{ "yes", 'y', OPT_FLAG, offsetof(struct cmd_global, yes), .help = "the same as --tty=false" },
	{ 0 },
};
const struct opt cmd_top_opts[] = {
	{ "version", 'v', OPT_FLAG, offsetof(struct cmd_global, version), .help = "show the version" },
	{ 0 },
};

enum { NAMES_MAX = 64, ALIASES = sizeof(cmds[0]->alias) / sizeof(*cmds[0]->alias) };

const struct cmd *const *cmd_all(const struct cmd *group)
{
	return group ? group->sub : cmds;
}

size_t cmd_tables(const struct cmd *c, const struct opt *table[CMD_TABLES], size_t at[CMD_TABLES])
{
	const struct cmd_shared own = { c->opt, 0 };
	size_t n = 0;

	for (size_t i = 0; i < CMD_TABLES; i++) {
		const struct cmd_shared *s = i ? &c->shared[i - 1] : &own;

		if (!s->opt)
			continue;
		if (at)
			at[n] = s->at;
		table[n++] = s->opt;
	}
	return n;
}

static bool is_called(const struct cmd *c, const char *name)
{
	if (!strcmp(c->name, name))
		return true;
	for (size_t i = 0; i < ALIASES && c->alias[i]; i++)
		if (!strcmp(c->alias[i], name))
			return true;
	return false;
}

static void unknown(const struct cmd *group, const char *name, struct err *e)
{
	const char *names[NAMES_MAX], *nearest, *space = group ? " " : "", *of = group ? group->name : "";
	size_t n = 0;

	for (const struct cmd *const *c = cmd_all(group); *c && n < NAMES_MAX; c++)
		if (!(*c)->hidden)
			names[n++] = (*c)->name;
	nearest = text_nearest(name, names, n);
	if (nearest)
		err_set(e, ERR_USAGE, "unknown command \"%s\" for \"limactl-c%s%s\", did you mean \"%s\"?", name, space, of,
			nearest);
	else
		err_set(e, ERR_USAGE, "unknown command \"%s\" for \"limactl-c%s%s\", see limactl-c%s%s --help", name, space,
			of, space, of);
}

const struct cmd *cmd_find(const struct cmd *group, const char *name, struct err *e)
{
	for (const struct cmd *const *c = cmd_all(group); *c; c++)
		if (is_called(*c, name))
			return *c;
	unknown(group, name, e);
	return NULL;
}

static void print_global(bool top)
{
	puts("\nGlobal options:");
	opts_print(cmd_global_opts, stdout);
	if (top)
		opts_print(cmd_top_opts, stdout);
}

static void print_list(const struct cmd *group)
{
	puts("\nCommands:");
	for (const struct cmd *const *c = cmd_all(group); *c; c++)
		if (!(*c)->hidden)
			printf("  %-12s %s\n", (*c)->name, (*c)->summary);
}

static void print_all(void)
{
	puts("Docker hosts in small virtual machines\n\nUsage:\n  limactl-c COMMAND [OPTIONS] [ARGUMENTS]");
	print_list(NULL);
	printf("  %-12s %s\n", "help", "Show the help of a command");
	print_global(true);
}

static void print_usage(const struct cmd *c)
{
	const struct opt *table[CMD_TABLES];
	const char *args = c->sub ? "COMMAND" : c->args ? c->args : "";

	printf("%s\n\nUsage:\n  limactl-c %s%s%s%s%s%s\n", c->summary, c->group ? c->group : "", c->group ? " " : "",
	       c->name, cmd_tables(c, table, NULL) ? " [OPTIONS]" : "", *args ? " " : "", args);
}

void cmd_print_help(const struct cmd *c)
{
	const struct opt *table[CMD_TABLES];
	size_t tables;

	if (!c) {
		print_all();
		return;
	}
	print_usage(c);
	if (c->alias[0]) {
		printf("\nAliases:\n  %s", c->name);
		for (size_t i = 0; i < ALIASES && c->alias[i]; i++)
			printf(", %s", c->alias[i]);
		puts("");
	}
	if (c->sub)
		print_list(c);
	tables = cmd_tables(c, table, NULL);
	if (tables)
		puts("\nOptions:");
	for (size_t i = 0; i < tables; i++)
		opts_print(table[i], stdout);
	print_global(false);
}
