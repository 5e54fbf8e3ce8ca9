/* cmd.h - the commands, each a row of the table in cmds.c and a file of its own. */
#ifndef LIMA_CLI_CMD_H
#define LIMA_CLI_CMD_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/err.h"
#include "limactl-c/cli/opts.h"

enum { CMD_ARGS_ANY = 4096 };

/* How a command was called. */
struct call {
	void *opts;    /* the command's own struct, filled by its option rows */
	char **arg;    /* what is left, NULL-terminated */
	size_t args;
	enum opt_tristate tty; /* --tty, not given: decided by what standard output is */
};

struct cmd {
	const char *name;
	const char *alias[3];
	const char *args;    /* for the usage line: "INSTANCE" */
	const char *summary; /* one line */
	const struct opt *opt; /* ended by a row without name; NULL = none */
	size_t opts_size;    /* of the struct the rows fill; zeroed first */
	size_t least, most;  /* how many arguments */
	bool in_order;       /* options end at the first argument */
	/* The exit code, or -1 with *e. A code above 0 with *e set: the error is printed too. */
	int (*run)(const struct call *call, struct err *e);
};

extern const struct cmd cmd_create, cmd_delete, cmd_list, cmd_restart, cmd_shell, cmd_start, cmd_stop, cmd_validate;

const struct cmd *cmd_find(const char *name); /* by name or alias; NULL */
int cmd_unknown(const char *name, struct err *e); /* -1, with the nearest known one */

void cmd_print_help(const struct cmd *c); /* on stdout; NULL: of the whole program */

#endif
