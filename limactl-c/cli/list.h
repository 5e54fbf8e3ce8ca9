/* list.h - instances in the forms that list writes. */
#ifndef LIMA_CLI_LIST_H
#define LIMA_CLI_LIST_H

#include <stdbool.h>

#include "lib/err.h"
#include "limactl-c/cli/look.h"
#include "limactl-c/cli/table.h"

enum list_form { LIST_TABLE, LIST_NAMES, LIST_JSON, LIST_YAML, LIST_TEMPLATE };

struct list {
	enum list_form form;
	const char *template;
	const char *filter, *yq; /* expressions, or NULL: what is kept, what is made of each */
	bool all_fields;
	bool pretty;        /* JSON for people */
	bool started;       /* something was written */
	struct table table; /* LIST_TABLE: the rows so far */
};

void list_begin(struct list *l);
/* One instance more: written at once, or kept as a row until the end. */
int list_instance(struct list *l, const char *name, struct err *e);
void list_end(struct list *l);

void list_table_begin(struct table *t);
void list_table_add(struct table *t, const struct look *l);
void list_table_end(struct table *t, bool all_fields); /* prints it, without what a narrow terminal has no room for */

#endif
