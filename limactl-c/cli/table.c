#include "limactl-c/cli/table.h"

#include <stdlib.h>
#include <string.h>

#include "limactl-c/base/mem.h"
#include "limactl-c/base/text.h"

enum { PADDING = 4 };

void table_add(struct table *t, char *cell)
{
	t->cell = xrealloc_array(t->cell, t->cells + 1, sizeof(*t->cell));
	t->cell[t->cells++] = cell;
}

static size_t width_of(const char *s)
{
	return text_utf8_count(s, strlen(s));
}

struct widths {
	size_t column[TABLE_COLUMNS_MAX];
	size_t last; /* column shown */
};

static struct widths measure(const struct table *t, unsigned hidden)
{
	struct widths w = { .last = 0 };

	for (size_t c = 0; c < t->columns; c++) {
		w.column[c] = width_of(t->head[c]);
		if (!(hidden & 1u << c))
			w.last = c;
	}
	for (size_t i = 0; i < t->cells; i++) {
		size_t n = width_of(t->cell[i]);

		if (n > w.column[i % t->columns])
			w.column[i % t->columns] = n;
	}
	return w;
}

static void print_row(const struct widths *w, const char *const *cell, unsigned hidden, FILE *f)
{
	for (size_t c = 0; c <= w->last; c++) {
		if (hidden & 1u << c)
			continue;
		fputs(cell[c], f);
		if (c < w->last)
			fprintf(f, "%*s", (int)(w->column[c] - width_of(cell[c]) + PADDING), "");
	}
	fputc('\n', f);
}

void table_print(const struct table *t, unsigned hidden, FILE *f)
{
	struct widths w = measure(t, hidden);

	print_row(&w, t->head, hidden, f);
	for (size_t i = 0; i + t->columns <= t->cells; i += t->columns)
		print_row(&w, (const char *const *)t->cell + i, hidden, f);
}

size_t table_width(const struct table *t, unsigned hidden)
{
	struct widths w = measure(t, hidden);
	size_t width = 0;

	for (size_t c = 0; c <= w.last; c++)
		if (!(hidden & 1u << c))
			width += w.column[c] + (c < w.last ? PADDING : 0);
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
