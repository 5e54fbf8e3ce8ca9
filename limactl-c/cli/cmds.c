#include <stdio.h>
#include <string.h>

#include "limactl-c/base/text.h"
#include "limactl-c/cli/cmd.h"

static const struct cmd *const cmds[] = {
	&cmd_create, &cmd_start, &cmd_stop,   &cmd_restart,
	&cmd_shell,  &cmd_list,  &cmd_delete, &cmd_validate,
};

enum { CMDS = sizeof(cmds) / sizeof(*cmds), ALIASES = sizeof(cmds[0]->alias) / sizeof(*cmds[0]->alias) };

static bool is_called(const struct cmd *c, const char *name)
{
	if (!strcmp(c->name, name))
		return true;
	for (size_t i = 0; i < ALIASES && c->alias[i]; i++)
		if (!strcmp(c->alias[i], name))
			return true;
	return false;
}

const struct cmd *cmd_find(const char *name)
{
	for (size_t i = 0; i < CMDS; i++)
		if (is_called(cmds[i], name))
			return cmds[i];
	return NULL;
}

int cmd_unknown(const char *name, struct err *e)
{
	const char *names[CMDS], *nearest;

	for (size_t i = 0; i < CMDS; i++)
		names[i] = cmds[i]->name;
	nearest = text_nearest(name, names, CMDS);
	if (nearest)
		return err_set(e, ERR_USAGE, "unknown command \"%s\" for \"limactl-c\", did you mean \"%s\"?", name,
			       nearest);
	return err_set(e, ERR_USAGE, "unknown command \"%s\" for \"limactl-c\", see limactl-c --help", name);
}

static void print_global(void)
{
	puts("\nGlobal options:\n"
	     "  -h, --help                 show help\n"
	     "      --tty                  use a terminal's ways (default: when standard output is one)\n"
	     "  -v, --version              show the version");
}

static void print_all(void)
{
	puts("Docker hosts in small virtual machines\n\nUsage:\n  limactl-c COMMAND [OPTIONS] [ARGUMENTS]\n\nCommands:");
	for (size_t i = 0; i < CMDS; i++)
		printf("  %-12s %s\n", cmds[i]->name, cmds[i]->summary);
	printf("  %-12s %s\n", "help", "Show the help of a command");
	print_global();
}

void cmd_print_help(const struct cmd *c)
{
	if (!c) {
		print_all();
		return;
	}
	printf("%s\n\nUsage:\n  limactl-c %s%s%s%s\n", c->summary, c->name, c->opt ? " [OPTIONS]" : "",
	       *c->args ? " " : "", c->args);
	if (c->alias[0]) {
		printf("\nAliases:\n  %s", c->name);
		for (size_t i = 0; i < ALIASES && c->alias[i]; i++)
			printf(", %s", c->alias[i]);
		puts("");
	}
	if (c->opt) {
		puts("\nOptions:");
		opts_print(c->opt, stdout);
	}
	print_global();
}
