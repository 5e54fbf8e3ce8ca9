/* emitter.h - what the writers of YAML and JSON text share; for this folder only. */
#ifndef LIMA_YAML_EMITTER_H
#define LIMA_YAML_EMITTER_H

#include "lib/buf.h"
#include "limactl-c/yaml/ynode.h"

enum { EMIT_INDENT = 2 };

struct emitter {
	struct buf *out;
	const char *eol; /* "\n" or "\r\n" */
	bool copies;     /* unchanged values are written as they were */
	bool quotes;     /* no block scalars */
	bool failed;     /* out is full */
};

void emit_bytes(struct emitter *m, const char *s, size_t n);
void emit_str(struct emitter *m, const char *s);
void emit_pad(struct emitter *m, size_t columns);
void emit_line_end(struct emitter *m);

/* Where a scalar is written decides which styles it may have. */
enum scalar_room {
	ROOM_KEY,
	ROOM_FLOW, /* between brackets */
	ROOM_FLOW_KEY,
	ROOM_LINE, /* one line of a block collection */
	ROOM_BLOCK, /* the same, block scalars allowed */
};

/* indent: columns of a block scalar's lines. Never ends with a line end. */
void emit_scalar(struct emitter *m, const struct ynode *n, enum scalar_room room, unsigned indent);

/* What a value stands behind; decides what comes first. */
enum emit_after {
	AFTER_NOTHING, /* the document's root */
	AFTER_KEY,     /* "key:" */
	AFTER_DASH,    /* "-" */
};

/* A value, without the last line end. column: that of the key or the dash. */
void emit_value(struct emitter *m, const struct ynode *n, unsigned column, enum emit_after after);
/* Between brackets, in one line, whatever the styles say. */
void emit_flow(struct emitter *m, const struct ynode *n);
/* The same for the value of index i, with its key. */
void emit_flow_element(struct emitter *m, const struct ynode *n, size_t i);
/* "key: value" or "- value" of index i, without the last line end. own_line: the comments above and the line's blanks first. */
void emit_element(struct emitter *m, const struct ynode *n, size_t i, unsigned column, bool own_line);

/* Whether YAML allows the character as it is in a line. */
bool emit_printable(uint32_t c);

#endif
