/* emit.h - trees → YAML and JSON text. */
#ifndef LIMA_YAML_EMIT_H
#define LIMA_YAML_EMIT_H

#include "lib/buf.h"
#include "limactl-c/yaml/ynode.h"

/* Appends the tree as a YAML document in block style, ended by a line end: by its values and their styles alone, without the
 * comments of the texts they came from. Reading the result gives the same tree. -1 when out is full. */
int yn_emit(const struct ynode *root, struct buf *out);

/* One scalar as it may stand behind "key: " in a line (never a block scalar). */
int yn_emit_scalar(const struct ynode *n, struct buf *out);

/* Whether a string can be written as a block scalar (|). */
bool yn_literal_possible(const struct ynode *n);

/* JSON. indent 0: one line, without spaces as Go writes it; else pretty with so many spaces a level. Numbers JSON cannot write
 * (.inf, 0x1f) become strings or decimal. -1 when out is full. */
int yn_json(const struct ynode *root, unsigned indent, struct buf *out);

#endif
