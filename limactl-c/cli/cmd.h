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
	enum opt_tristate tty; /* --tty, --yes; not given: decided by what standard output is */
};

/* A table several commands share, and where in a command's struct its own struct lies. */
struct cmd_shared {
	const struct opt *opt; /* NULL: none */
	size_t at;
};

enum { CMD_SHARED = 2, CMD_TABLES = 1 + CMD_SHARED };

struct cmd {
	const char *name;
	const char *alias[3];
	const char *args;    /* for the usage line: "INSTANCE...", "SRC [DST]"; completion goes by it too (completion.h) */
	const char *summary; /* one line */
	const struct opt *opt; /* ended by a row without name; NULL = none */
	struct cmd_shared shared[CMD_SHARED];
	size_t opts_size;    /* of the struct the rows fill; zeroed first */
	size_t least, most;  /* how many arguments */
	bool in_order;       /* options end at the first argument */
	bool hidden;         /* not in the help */
	/* A group: its commands, NULL-terminated. It has no run of its own, they name it as their group. */
	const struct cmd *const *sub;
	const char *group;
	/* The exit code, or -1 with *e. A code above 0 with *e set: the error is printed too. */
	int (*run)(const struct call *call, struct err *e);
};

extern const struct cmd cmd_autostart, cmd_clone, cmd_complete, cmd_completion, cmd_copy, cmd_create, cmd_delete, cmd_disk,
	cmd_disk_delete,
	cmd_disk_list, cmd_disk_unlock, cmd_edit, cmd_factory_reset, cmd_idle, cmd_info,
	cmd_jsonschema, cmd_list, cmd_pause, cmd_protect, cmd_prune, cmd_rename, cmd_restart, cmd_resume, cmd_shell, cmd_show_ssh, cmd_snapshot, cmd_start, cmd_suspend,
	cmd_start_at_login, cmd_stop, cmd_template, cmd_template_copy, cmd_template_url, cmd_template_validate, cmd_template_yq,
	cmd_tunnel, cmd_unprotect, cmd_validate, cmd_watch, cmd_yq_file;

/* Options every command takes, and those that stand before the command only. */
struct cmd_global {
	bool help, version, debug, yes;
	enum opt_tristate tty;
	const char *log_level, *log_format;
};
extern const struct opt cmd_global_opts[], cmd_top_opts[];

/* The commands, NULL-terminated: of the program, or of a group. */
const struct cmd *const *cmd_all(const struct cmd *group);
/* By name or alias, in a group or (NULL) at the top; NULL with *e: unknown, with the nearest known one. */
const struct cmd *cmd_find(const struct cmd *group, const char *name, struct err *e);

/* Its tables of options in table[], its own first; returns how many. at, when not NULL, gets where their structs
 * lie. */
size_t cmd_tables(const struct cmd *c, const struct opt *table[CMD_TABLES], size_t at[CMD_TABLES]);

void cmd_print_help(const struct cmd *c); /* on stdout; NULL: of the whole program */

#endif
