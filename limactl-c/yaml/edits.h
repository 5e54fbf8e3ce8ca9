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
struct edits {
	struct edit *item; /* owned */
	size_t count, room;
};

/* text must outlive the edits. */
void edits_add(struct edits *e, size_t from, size_t to, const char *text, size_t len);
/* false: two of them contradict, or out is full. What is removed twice is no contradiction. */
bool edits_apply(struct edits *e, const char *text, size_t len, struct buf *out);
void edits_free(struct edits *e);
#define auto_edits CLEANUP(edits_free) struct edits

#endif
