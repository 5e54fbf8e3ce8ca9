#include "limactl-c/yaml/edits.h"

#include <stdlib.h>

#include "limactl-c/base/mem.h"

void yn_edits_add(struct yn_edits *e, size_t from, size_t to, const char *text, size_t len)
{
	if (e->count == e->room) {
		e->room = e->room ? 2 * e->room : 16;
		e->item = xrealloc_array(e->item, e->room, sizeof(*e->item));
	}
	e->item[e->count] = (struct edit){ from, to, text, len, e->count };
	e->count++;
}

/* What is put in comes before what is taken out at the same place. */
static int compare(const void *pa, const void *pb)
{
	const struct edit *a = pa, *b = pb;
	bool a_takes = a->to > a->from, b_takes = b->to > b->from;

	if (a->from != b->from)
		return a->from < b->from ? -1 : 1;
	if (a_takes != b_takes)
		return a_takes ? 1 : -1;
	return a->order < b->order ? -1 : 1;
}

bool yn_edits_apply(struct yn_edits *e, const char *text, size_t len, struct buf *out)
{
	size_t at = 0;

	if (e->count)
		qsort(e->item, e->count, sizeof(*e->item), compare);
	for (size_t i = 0; i < e->count; i++) {
		struct edit *one = &e->item[i];

		if (one->from < at) {
			if (one->len)
				return false;
			one->from = at;
		}
		if (one->to < one->from)
			continue;
		if (buf_add(out, text + at, one->from - at) < 0 || buf_add(out, one->text, one->len) < 0)
			return false;
		at = one->to;
	}
	return buf_add(out, text + at, len - at) == 0;
}

void yn_edits_free(struct yn_edits *e)
{
	free(e->item);
	*e = (struct yn_edits){ 0 };
}
