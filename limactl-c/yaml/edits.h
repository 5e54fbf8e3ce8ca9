/* edits.h - replacements collected for one text, then carried out at once. For this folder only. */
#ifndef LIMA_YAML_EDITS_H
#define LIMA_YAML_EDITS_H

#include "lib/buf.h"
#include "limactl-c/yaml/ynode.h"

struct edit {
	size_t from, to; /* of the old text */
	const char *text;
	size_t len;
	size_t order; /* of two at one place, the earlier one comes first */
};
struct yn_edits {
	struct edit *item; /* owned */
	size_t count, room;
};

/* text must outlive the edits. */
void yn_edits_add(struct yn_edits *e, size_t from, size_t to, const char *text, size_t len);
/* false: two of them contradict, or out is full. What is removed twice is no contradiction. */
bool yn_edits_apply(struct yn_edits *e, const char *text, size_t len, struct buf *out);
void yn_edits_free(struct yn_edits *e);

#endif
