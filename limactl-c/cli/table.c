#include "limactl-c/cli/table.h"

#include <stdlib.h>
#include <string.h>

#include "limactl-c/base/mem.h"

enum { PADDING = 4 };

void table_add(struct table *t, char *cell)
{
	t->cell = xrealloc_array(t->cell, t->cells + 1, sizeof(*t->cell));
	t->cell[t->cells++] = cell;
}

/* Characters, not bytes: continuation bytes of UTF-8 take no room. */
static size_t width_of(const char *s)
{
	size_t n = 0;

	for (; *s; s++)
		n += ((unsigned char)*s & 0xc0) != 0x80;
	return n;
}

static size_t column_width(const struct table *t, size_t column)
{
	size_t most = width_of(t->head[column]);

	for (size_t i = column; i < t->cells; i += t->columns)
		if (width_of(t->cell[i]) > most)
			most = width_of(t->cell[i]);
	return most;
}

static size_t last_shown(const struct table *t, unsigned hidden)
{
	size_t last = 0;

	for (size_t c = 0; c < t->columns; c++)
		if (!(hidden & 1u << c))
			last = c;
	return last;
}

static void print_row(const struct table *t, const char *const *cell, unsigned hidden, FILE *f)
{
	size_t last = last_shown(t, hidden);

	for (size_t c = 0; c <= last; c++) {
		if (hidden & 1u << c)
			continue;
		fputs(cell[c], f);
		for (size_t n = width_of(cell[c]); c < last && n < column_width(t, c) + PADDING; n++)
			fputc(' ', f);
	}
	fputc('\n', f);
}

void table_print(const struct table *t, unsigned hidden, FILE *f)
{
	print_row(t, t->head, hidden, f);
	for (size_t i = 0; i + t->columns <= t->cells; i += t->columns)
		print_row(t, (const char *const *)t->cell + i, hidden, f);
}

size_t table_width(const struct table *t, unsigned hidden)
{
	size_t width = 0, last = last_shown(t, hidden);

	for (size_t c = 0; c <= last; c++)
		if (!(hidden & 1u << c))
			width += column_width(t, c) + (c < last ? PADDING : 0);
	return width;
}

void table_free(struct table *t)
{
	for (size_t i = 0; i < t->cells; i++)
		free(t->cell[i]);
	free(t->cell);
	t->cell = NULL;
	t->cells = 0;
}
