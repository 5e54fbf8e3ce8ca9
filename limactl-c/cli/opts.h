/* opts.h - options as rows of a table: parsing over getopt_long, checking and help come from the row. */
#ifndef LIMA_CLI_OPTS_H
#define LIMA_CLI_OPTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "lib/err.h"

enum opt_tristate { OPT_UNSET, OPT_NO, OPT_YES };

enum opt_type {
	OPT_FLAG,     /* bool; "--plain" and "--plain=false" */
	OPT_TRISTATE, /* enum opt_tristate, given as a flag is */
	OPT_STRING,   /* const char *, into argv */
	OPT_LIST,     /* struct opt_list, into argv; each time it is given adds one */
	OPT_COUNT,    /* unsigned, at least 1; 0 = not given */
	OPT_GIB,      /* uint64_t bytes, given as a number of GiB, fractions allowed; 0 = not given */
	OPT_DURATION, /* unsigned seconds, given as 90s, 10m, 1h30m; 0 = not given */
};

struct opt {
	const char *name; /* long; NULL ends a table */
	char letter;      /* short, or 0 */
	enum opt_type type;
	size_t offset;    /* of the destination */
	const char *value; /* what the help calls its value; NULL for flags */
	const char *help;
};

enum { OPTS_MAX = 64, OPT_LIST_MAX = 64 };

struct opt_list {
	const char *item[OPT_LIST_MAX];
	size_t count;
};

/* A table and the struct it fills. */
struct opt_set {
	const struct opt *opt;
	void *dest;
};

/* Parses argv[1] and on; argv[0] is skipped. Returns the index of the first argument that is no option, -1 on error.
 * in_order: stop at the first argument instead of looking for options behind it. */
int opts_parse(const struct opt_set *set, size_t sets, bool in_order, int argc, char **argv, struct err *e);

void opts_print(const struct opt *opt, FILE *f); /* the help's lines */

/* Values of such options, also for the tests; -1 says what is wrong with the text. */
int opt_parse_gib(const char *text, uint64_t *bytes, struct err *e);
int opt_parse_duration(const char *text, unsigned *seconds, struct err *e);

#endif
