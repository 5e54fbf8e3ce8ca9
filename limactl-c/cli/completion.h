/* completion.h - what may stand where the cursor is: found from the tables of commands, options and keys. */
#ifndef LIMA_CLI_COMPLETION_H
#define LIMA_CLI_COMPLETION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct completion_item {
	char *word;       /* the whole word, what was typed of it included */
	const char *help; /* one line, borrowed from a table; "" = none */
};

struct completion {
	const char *lead;  /* what stands before a value in its word: "--arch=" */
	size_t lead_len;
	const char *typed; /* of the value */
	struct completion_item *item;
	size_t count;
	bool files; /* names of files do as well */
};

/* Fills out for the last of these words, which follow the program's name; it may be "". */
void completion_find(const char *const *word, size_t words, struct completion *out);
void completion_fini(struct completion *c);

/* Adds a candidate when it goes on from what is typed. */
void completion_add(struct completion *c, const char *word, const char *help);

/* Adds what an operand may be, as the usage line calls it: "qemu|vz" (words as they are), "INSTANCE", "DISK", "FILE", "DIR",
 * "template:NAME", "EXPRESSION", several of them separated by '|'. */
void completion_add_values(struct completion *c, const char *operand);

/* The script for a shell, to standard output as it is; NULL for another shell. */
const char *completion_script(const char *shell);

#endif
