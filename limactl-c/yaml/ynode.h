/* ynode.h - trees of values: what YAML texts hold, what expressions and templates work on.
 *
 * Every node, its text and its arrays live in a pool and go with it; nothing is freed alone. A tree that was
 * parsed (parse.h) is never changed: changes are made to a yn_copy() of it, whose nodes remember where
 * they come from. So a text can be patched where its tree was changed (patch.h), and every value
 * can say in which file and line it was given, after merging too.
 */
#ifndef LIMA_YAML_YNODE_H
#define LIMA_YAML_YNODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/cleanup.h"
#include "limactl-c/base/finding.h"

enum {
	YN_TEXT_MAX = 4 << 20,
	YN_DEPTH_MAX = 64,
	YN_NODES_MAX = 50000,
	YN_KEYS_MAX = 2000, /* of a map */
	YN_KEY_MAX = 256,   /* bytes */
};

enum yn_kind { YN_NULL, YN_BOOL, YN_INT, YN_FLOAT, YN_STRING, YN_LIST, YN_MAP };

/* How a value was written. Of a node made here: how it is written when that is possible. */
enum yn_style {
	YN_PLAIN, /* scalars without quotes; collections in block style */
	YN_SINGLE,
	YN_DOUBLE,
	YN_LITERAL, /* | */
	YN_FOLDED,  /* > */
	YN_FLOW,    /* […], {…} */
	YN_BINARY,  /* a string written as !!binary: the text is what base64 stood for */
};

/* A text nodes were read from. */
struct yn_source {
	const char *name; /* of the file, for messages */
	const char *text; /* a byte-order mark included */
	size_t len;
};

struct ynode {
	enum yn_kind kind;
	enum yn_style style;
	const struct yn_source *source; /* NULL: made by an expression, a flag or a default */
	unsigned line, column;          /* from 1; 0 without source */
	size_t start, end; /* bytes in source->text: properties (&x, !!t) and value; a block collection ends
			      behind its last value, a block scalar behind its last line end */
	const char *text;  /* scalars: what it says, without quotes, folds and escapes; NUL-terminated */
	size_t len;        /* of text, which may hold NUL bytes */
	struct ynode **item; /* lists: values; maps: values, item[i] belongs to key[i] */
	struct ynode **key;  /* maps: scalars, each text once */
	size_t count, room;
	const struct ynode *origin; /* the parsed node this is a copy of */
	bool anchored;              /* written with &x */
	bool aliased;               /* written as *x: start, end, line, column are those of the alias */
	bool linked;                /* it or something below is anchored or aliased */
	unsigned height;            /* parsed: of the tree below, aliases followed; 0: a scalar */
	size_t weight;              /* parsed: nodes below and this one, aliases counted each time */
};

struct yn_pool;
struct yn_pool *yn_pool_new(void);
void yn_pool_free(struct yn_pool *p);
DEFINE_CLEANUP(struct yn_pool *, yn_pool_free)
#define auto_pool CLEANUP(yn_pool_freep) struct yn_pool *
size_t yn_pool_size(const struct yn_pool *p);                     /* bytes handed out so far */
void *yn_alloc(struct yn_pool *p, size_t size);                   /* zeroed */
char *yn_strndup(struct yn_pool *p, const char *s, size_t n);     /* NUL added */
char *yn_printf(struct yn_pool *p, const char *fmt, ...) ERR_FMT(2, 3);

/* New nodes. A scalar's text is copied; kind says what it is, its text must fit. */
struct ynode *yn_scalar(struct yn_pool *p, enum yn_kind kind, const char *text, size_t len);
struct ynode *yn_string(struct yn_pool *p, const char *text);
struct ynode *yn_null(struct yn_pool *p);
struct ynode *yn_bool(struct yn_pool *p, bool b);
struct ynode *yn_int(struct yn_pool *p, int64_t n);
struct ynode *yn_list(struct yn_pool *p);
struct ynode *yn_map(struct yn_pool *p);

/* Deep copy with aliases followed: origin of each copy is the parsed node, never another copy. */
struct ynode *yn_copy(struct yn_pool *p, const struct ynode *n);

/* The parsed node this one is, or is a copy of; NULL: there is none. */
const struct ynode *yn_origin(const struct ynode *n);

/* made takes the place of given in a tree: messages and patches find it there. */
void yn_stand_for(struct ynode *made, const struct ynode *given);

bool yn_is_scalar(const struct ynode *n); /* null is one too */
bool yn_same(const struct ynode *a, const struct ynode *b); /* same kinds, texts, keys in the same order */
struct place yn_place(const struct ynode *n);
const char *yn_kind_word(enum yn_kind kind); /* "a list" */

/* Maps. The value of key; NULL when there is none (or map is no map, or NULL). */
struct ynode *yn_get(const struct ynode *map, const char *key);
size_t yn_find(const struct ynode *map, const char *key, size_t len); /* index; count: none */
void yn_set(struct yn_pool *p, struct ynode *map, const char *key, struct ynode *value); /* replaces, or appends */
void yn_put(struct yn_pool *p, struct ynode *map, struct ynode *key, struct ynode *value); /* the same, with a key node */

/* Lists (yn_remove: maps too). at <= count; at < count. */
void yn_add(struct yn_pool *p, struct ynode *list, struct ynode *value);
void yn_insert(struct yn_pool *p, struct ynode *list, size_t at, struct ynode *value);
void yn_remove(struct ynode *n, size_t at);

#endif
