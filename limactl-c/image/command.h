/* command.h - the commands of the image program, each a row of the table in main.c and a file of its own. */
#ifndef LIMA_IMAGE_COMMAND_H
#define LIMA_IMAGE_COMMAND_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/err.h"

enum { COMMAND_OPTS_MAX = 4, COMMAND_ARGS_MAX = 3 };

struct command_opt {
	const char *name;  /* without "--"; NULL ends the list */
	const char *value; /* what the help calls its value; NULL: a flag */
	bool required;
};

/* What was given, borrowed from argv. opt[i] belongs to row i of the command's options: NULL when not given, "" for a flag. */
struct command_line {
	const char *opt[COMMAND_OPTS_MAX];
	const char *arg[COMMAND_ARGS_MAX];
};

struct command {
	const char *name;
	const char *args; /* for the help: "FILE" */
	const char *help; /* one line */
	size_t nargs;     /* exactly so many */
	struct command_opt opt[COMMAND_OPTS_MAX + 1];
	int (*run)(const struct command_line *c, struct err *e);
};

extern const struct command command_bootfiles;
extern const struct command command_convert;
extern const struct command command_digest;
extern const struct command command_disk;
extern const struct command command_extract;
extern const struct command command_get;
extern const struct command command_import;
extern const struct command command_initrd;
extern const struct command command_inspect;
extern const struct command command_kernel;
extern const struct command command_prune;
extern const struct command command_seed;

/* Sorts argv (after the command's name, NULL-terminated) into c; ERR_USAGE names what is wrong. */
int command_parse(const struct command *cmd, char **argv, struct command_line *c, struct err *e);

#endif
