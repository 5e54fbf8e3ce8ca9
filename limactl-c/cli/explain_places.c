#include <stdlib.h>
#include <string.h>

#include "limactl-c/base/mem.h"
#include "limactl-c/cli/explain.h"

static void add(struct explain_places *p, const struct ynode *here, const struct ynode *there)
{
	p->moved = xrealloc_array(p->moved, p->count + 1, sizeof(*p->moved));
	p->moved[p->count++] = (struct explain_moved){ yn_place(here), yn_place(there) };
	for (size_t i = 0; i < here->count && i < there->count; i++)
		add(p, here->item[i], there->item[i]);
}

static int by_place(const void *a, const void *b)
{
	const struct place *x = &((const struct explain_moved *)a)->here, *y = &((const struct explain_moved *)b)->here;

	if (x->line != y->line)
		return x->line < y->line ? -1 : 1;
	return x->column < y->column ? -1 : x->column > y->column;
}

void explain_places_find(struct explain_places *p, const struct ynode *text, const struct ynode *tree)
{
	add(p, text, tree);
	qsort(p->moved, p->count, sizeof(*p->moved), by_place);
}

struct place explain_place(const struct explain_places *p, struct place at)
{
	const struct explain_moved key = { .here = at }, *found;

	if (!p || !p->count || !at.file || strcmp(at.file, p->moved[0].here.file) != 0)
		return at;
	found = bsearch(&key, p->moved, p->count, sizeof(*p->moved), by_place);
	return found ? found->there : at;
}

void explain_places_free(struct explain_places *p)
{
	free(p->moved);
	*p = (struct explain_places){ 0 };
}
