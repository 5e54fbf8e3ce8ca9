/* opts.h - options as rows of a table: parsing over getopt_long, checking and help come from the row. */
#ifndef LIMA_CLI_OPTS_H
#define LIMA_CLI_OPTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "lib/err.h"

enum opt_tristate { OPT_UNSET, OPT_NO, OPT_YES };

enum opt_type {
	OPT_FLAG,     /* bool; "--plain" and "--plain=false" */
	OPT_TRISTATE, /* enum opt_tristate, given as a flag is */
	OPT_STRING,   /* const char *, into argv */
	OPT_WORD,     /* the same, one of the row's words */
	OPT_GIB,      /* the same, checked: a number of GiB above 0, fractions allowed */
	OPT_PORT,     /* the same, checked: 0 to 65535 */
	OPT_COUNT,    /* unsigned, at least 1; 0 = not given */
	OPT_DURATION, /* unsigned seconds, given as 90s, 10m, 1h30m; 0 = not given */
	OPT_LIST,     /* struct opt_list, one string more each time the option is given */
	OPT_COMMAS,   /* the same, several strings at a time: a,b; one with a comma in it is put in quotes: "a,b",c */
};

struct opt {
	const char *name; /* long; NULL ends a table */
	char letter;      /* short, or 0 */
	enum opt_type type;
	size_t offset;    /* of the destination */
	const char *value; /* what the help calls its value; NULL for flags. Completion takes "INSTANCE", "FILE" by their word */
	const char *help;
	const char *words; /* "a|b|c" */
	const char *key;   /* the key of a template whose words are meant instead: "mountType" */
	const void *rule;  /* for the owner of the table */
};

enum { OPTS_MAX = 64, OPT_LIST_MAX = 64 };

struct opt_list {
	const char *item[OPT_LIST_MAX]; /* into argv */
	size_t count;
};

/* A table and the struct it fills. */
struct opt_set {
	const struct opt *opt;
	void *dest;
};

/* Parses argv[1] and on; argv[0] is skipped. Returns the index of the first argument that is no option, -1 on
 * error. in_order: stop at the first argument instead of looking for options behind it. Values given with commas
 * are cut apart where they stand in argv. */
int opts_parse(const struct opt_set *set, size_t sets, bool in_order, int argc, char **argv, struct err *e);

void opts_print(const struct opt *opt, FILE *f); /* the help's lines */

bool opt_given(const struct opt *o, const void *dest); /* dest: the struct of its table */

/* "a|b|c": the words that complete its value; NULL when there are none. */
const char *opt_words(const struct opt *o);

/* Values of such options, also for the tests; -1 says what is wrong with the text. */
int opt_parse_gib(const char *text, double *gib, struct err *e);
int opt_parse_duration(const char *text, unsigned *seconds, struct err *e);

#endif
