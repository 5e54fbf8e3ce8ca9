/* value.h - what templates compute with, its truth and how Go writes it. Private to gotmpl/. */
#ifndef LIMA_GOTMPL_VALUE_H
#define LIMA_GOTMPL_VALUE_H

#include "lib/buf.h"
#include "lib/err.h"
#include "limactl-c/yaml/ynode.h"

enum { STRING_MAX = YN_TEXT_MAX }; /* bytes of one value made by a template */

enum value_kind {
	VALUE_NONE, /* no value: what Go prints as "<no value>" */
	VALUE_NULL, /* null in the data; the result of a pipeline is never it, but VALUE_NONE */
	VALUE_BOOL,
	VALUE_INT,
	VALUE_FLOAT,
	VALUE_STRING,
	VALUE_LIST,
	VALUE_MAP,
};

/* Texts and nodes are in the pool of the run, in the template or in the data. */
struct value {
	enum value_kind kind;
	bool open; /* in the open part of the data: what is missing in it is nothing */
	bool b;
	int64_t i;
	double f;
	const char *s; /* a string's text; of VALUE_NONE: the name of the field that is not there, NULL: none in particular */
	size_t len;
	const struct ynode *node; /* lists, maps */
};

struct value value_bool(bool b);
struct value value_int(int64_t i);
struct value value_string(const char *s, size_t len);
int value_of(const struct ynode *n, struct value *out, struct err *e); /* -1: a number too large */

bool value_truth(const struct value *v);
const char *value_word(const struct value *v); /* what it is: "text", "a list", "nothing" */

/* As Go's %v. -1 when out is full, or a number in it is too large. */
int value_print(const struct value *v, struct buf *out, struct err *e);
int value_print_float(double f, struct buf *out);

/* The indexes of a map's values in the order of their keys' bytes, as Go walks maps. In p. */
size_t *value_sorted(struct yn_pool *p, const struct ynode *map);

#endif
