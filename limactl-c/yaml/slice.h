/* slice.h - the lines of a text that belong to one value, its comments included. */
#ifndef LIMA_YAML_SLICE_H
#define LIMA_YAML_SLICE_H

#include "limactl-c/yaml/ynode.h"

/* Offsets in source->text. */
struct slice {
	const struct yn_source *source;
	size_t head;   /* of own_line: where the line begins, or the first of the comment lines right above; else from */
	size_t from;   /* the key or the dash */
	size_t end;    /* behind the value; a block scalar's last line end not included */
	size_t to;     /* behind its last line, without the line end: a comment behind the value is included */
	size_t column; /* bytes before from in its line */
	bool own_line; /* nothing but blanks before from */
};

/* An entry of a block map, an item of a block list: parsed nodes. false when they do not stand as such in
 * their text, or something else follows in their last line. */
bool slice_entry(const struct ynode *key, const struct ynode *value, struct slice *s);
bool slice_item(const struct ynode *item, struct slice *s);
/* head, from, column and own_line only. */
bool slice_key(const struct ynode *key, struct slice *s);
bool slice_dash(const struct ynode *item, struct slice *s);

/* Behind the colon of a key whose value is this one; 0 when something else than blanks and comments lies between. */
size_t slice_colon(const struct ynode *key, const struct ynode *value);
/* Where a value ends: of a block scalar the blank lines that are layout, and the last line end, are left out. */
size_t slice_end(const struct ynode *n);
/* Where a block scalar's header has its + or -, or could have it. */
size_t slice_chomping(const struct ynode *n);
/* A list or a map written one value a line. */
bool slice_is_block(const struct ynode *n);
/* The value whose text ends last: n itself unless it is such a list or map. */
const struct ynode *slice_last(const struct ynode *n);
/* Whether a line end after the text would become part of the value: a block scalar that ends with the text. */
bool slice_is_open(const struct ynode *n);
/* What a node says where it is written: n itself, or what it is an unchanged copy of; NULL when there is no such. */
const struct ynode *slice_origin(const struct ynode *n);

size_t slice_line_start(const struct yn_source *source, size_t at);
size_t slice_line_end(const struct yn_source *source, size_t at); /* of "\n" or "\r\n" */
size_t slice_next_line(const struct yn_source *source, size_t at);
size_t slice_mark(const struct yn_source *source); /* bytes of the byte-order mark */

#endif
