/* table.h - columns of text, each as wide as its widest cell. */
#ifndef LIMA_CLI_TABLE_H
#define LIMA_CLI_TABLE_H

#include <stddef.h>
#include <stdio.h>

enum { TABLE_COLUMNS_MAX = 12 };

struct table {
	const char *head[TABLE_COLUMNS_MAX];
	size_t columns;
	char **cell; /* rows one after the other; owned */
	size_t cells;
};

void table_add(struct table *t, char *cell); /* takes cell; the next one in order */
/* Writes it, leaving out columns for which hidden has a bit set (1 << column). */
void table_print(const struct table *t, unsigned hidden, FILE *f);
size_t table_width(const struct table *t, unsigned hidden); /* characters of the longest line */
void table_free(struct table *t);

#endif
