/* main.c - fetching, unpacking and preparing images: runs one command and exits.
 *
 * Exit codes: 0 done, 1 failed, 2 wrong command line. The result, a path or a digest, is the only line on stdout.
 */
#include <stdio.h>
#include <string.h>

#include "lib/io.h"
#include "limactl-c/image/command.h"
#include "limactl-c/image/newfile.h"

static const struct command *const commands[] = {
	&command_digest, &command_import, &command_get, &command_initrd, &command_extract, &command_disk,
	&command_convert, &command_seed, &command_bootfiles, &command_kernel, &command_inspect, &command_prune,
};

enum { COMMANDS = sizeof(commands) / sizeof(commands[0]) };

static void print_usage(const struct command *c)
{
	printf("  image %s", c->name);
	for (const struct command_opt *o = c->opt; o->name; o++)
		printf(" %s--%s%s%s%s", o->required ? "" : "[", o->name, o->value ? " " : "", o->value ? o->value : "",
		       o->required ? "" : "]");
	printf("%s%s\n      %s\n", *c->args ? " " : "", c->args, c->help);
}

static int help(void)
{
	puts("Usage: image COMMAND");
	for (size_t i = 0; i < COMMANDS; i++)
		print_usage(commands[i]);
	return 0;
}

static const struct command *find(const char *name)
{
	for (size_t i = 0; i < COMMANDS; i++) {
		if (strcmp(commands[i]->name, name) == 0)
			return commands[i];
	}
	return NULL;
}

static int run(char **argv, struct err *e)
{
	const struct command *cmd = argv[1] ? find(argv[1]) : NULL;
	struct command_line line;

	if (!argv[1])
		return err_set(e, ERR_USAGE, "a command is needed, see image --help");
	if (!cmd)
		return err_set(e, ERR_USAGE, "unknown command \"%s\", see image --help", argv[1]);
	if (argv[2] && strcmp(argv[2], "--help") == 0)
		return print_usage(cmd), 0;
	if (command_parse(cmd, argv + 2, &line, e) < 0)
		return -1;
	newfile_clean_on_signals();
	return cmd->run(&line, e);
}

int main(int argc, char **argv)
{
	struct err e = { 0 };

	io_keep_std();
	if (argc > 1 && strcmp(argv[1], "--help") == 0)
		return help();
	if (argc > 1 && strcmp(argv[1], "--version") == 0)
		return puts("image version " VERSION), 0;
	if (run(argv, &e) < 0) {
		fprintf(stderr, "image: %s\n", e.msg);
		return e.kind == ERR_USAGE ? 2 : 1;
	}
	return fflush(stdout) == 0 ? 0 : 1;
}
