/* patcher.h - what the parts of yn_patch() share; for this folder only. */
#ifndef LIMA_YAML_PATCHER_H
#define LIMA_YAML_PATCHER_H

#include "limactl-c/yaml/edits.h"
#include "limactl-c/yaml/emitter.h"
#include "limactl-c/yaml/slice.h"

struct patcher {
	struct yn_pool *pool; /* of the edits' texts */
	const struct yn_source *source;
	const char *eol;
	struct yn_edits edits;
	bool trims;     /* empty lines below what is written make way: a text of several lines would take them in */
	bool quotes;    /* texts of several lines are written in quotes, in one line */
	bool expand;    /* aliases are written out */
	bool copies;    /* new values that are copies bring their lines along */
	unsigned depth; /* values deeper than this are written anew as a whole when they changed */
};

/* Where a value stands. */
struct spot {
	enum emit_after after;
	bool flow;       /* between brackets; hook is behind the key, or where the value begins */
	size_t hook;     /* behind the colon or the dash; of the root where it begins */
	unsigned column; /* of the key or the dash */
	unsigned depth;
};

/* Each adds the edits that make was say now; false (and no edits): not in this place. */
bool patch_value(struct patcher *p, const struct ynode *was, const struct ynode *now, const struct spot *spot);
bool patch_block(struct patcher *p, const struct ynode *was, const struct ynode *now, const struct spot *spot);
bool patch_flow(struct patcher *p, const struct ynode *was, const struct ynode *now, const struct spot *spot);
bool patch_replace(struct patcher *p, const struct ynode *was, const struct ynode *now, const struct spot *spot);

/* Where lines can be added at the end of a document whose last value ends at this place: behind the last comment. */
size_t patch_document_end(const struct yn_source *source, size_t at);

/* An edit: what an emitter wrote comes in the place of what the old text has there. */
void patch_put(struct patcher *p, size_t from, size_t to, const struct buf *text);
#define PATCH_EMITTER(p, buffer) { .out = (buffer), .eol = (p)->eol, .copies = (p)->copies, .quotes = (p)->quotes }

#endif
