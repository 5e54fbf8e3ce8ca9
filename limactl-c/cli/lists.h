/* lists.h - what can be chosen from: --list-templates, --list-drivers. */
#ifndef LIMA_CLI_LISTS_H
#define LIMA_CLI_LISTS_H

#include <stdbool.h>

struct lists {
	bool templates, drivers;
};

/* The rows, for a command whose struct has a member lists. */
#define LISTS_OPTS(s) \
	{ "list-templates", 0, OPT_FLAG, offsetof(struct s, lists.templates), .help = "print the names of the templates" }, \
	{ "list-drivers", 0, OPT_FLAG, offsetof(struct s, lists.drivers), .help = "print the values of --vm-type" }

/* Prints what was asked for, one name a line on standard output; false: nothing was. */
bool lists_print(const struct lists *l);

#endif
