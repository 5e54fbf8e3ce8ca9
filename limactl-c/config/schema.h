/* schema.h - the table of keys: what the parser, the defaults, the dump, the messages and
 * docs/config.md are made of. */
#ifndef LIMA_SCHEMA_H
#define LIMA_SCHEMA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/err.h"

enum key_type {
	KEY_STRING,  /* char * */
	KEY_BOOL,    /* bool */
	KEY_TRI,     /* enum cfg_tri */
	KEY_COUNT,   /* uint32_t; 0 = not set where 0 is not allowed */
	KEY_PORT,    /* uint32_t, 0 = not set */
	KEY_SIZE,    /* uint64_t, bytes */
	KEY_SECONDS, /* uint32_t */
	KEY_RANGE,   /* uint32_t[2], two ports; 0 = not set */
	KEY_FLAGS,   /* bool for each allowed word, in that order; a list of words */
	KEY_PAIRS,   /* struct cfg_env * and count; a mapping of text to text */
	KEY_STRINGS, /* char ** and count */
	KEY_LIST,    /* array and count of structs; rows "PATH[].…" describe one */
	KEY_MOVED,   /* a former place of the key named by moved; no member */
	KEY_TYPES
};

/* What the text of a value must look like, besides being allowed. */
enum key_check {
	CHECK_NONE,
	CHECK_DIGEST,    /* sha256:HEX, sha512:HEX */
	CHECK_IP,
	CHECK_ABSOLUTE,  /* a path; {{…}} may begin it */
	CHECK_OCTAL,
	CHECK_NAME,      /* as instances are named */
	CHECK_MAC,
	CHECK_INTERFACE, /* of a network */
	CHECK_VERSION,   /* 1.2.3 */
	CHECK_SCRIPT,    /* begins with #! */
	CHECK_SOCKET,    /* a path that fits a socket address */
	CHECK_WORD,    /* kernel argument: one word */
	CHECK_PASSWD,    /* a field of /etc/passwd */
	CHECK_HOME,      /* a path that is one */
	CHECK_KINDS
};

struct key {
	const char *path; /* "images[].kernel.location" */
	enum key_type type;
	size_t at;           /* offset in struct cfg, or in the element of the list it is in */
	size_t count_at;     /* of the count of lists, mappings; offset likewise */
	size_t size;         /* of an element of KEY_LIST */
	const char *def;     /* default as YAML text, filled in when not set; NULL: none or computed
				(see note) */
	const char *note;    /* default in words, when it is computed */
	const char *allowed; /* "a|b": words; "1-512": numbers, sizes; NULL: any */
	enum key_check check;
	bool required;       /* of every element of the list it is in */
	bool word;           /* the mapping it is in may be written as this value alone (a list: as one element) */
	const char *moved;   /* KEY_MOVED: path of the key that replaces it */
	const char *help;    /* one line */
};

extern const struct key schema[];
extern const size_t schema_count;

/* The table as the tree its paths make, in the table's order. A list's children are the keys of its elements. */
enum { SCHEMA_NAME_MAX = 32 };
struct schema_node {
	char name[SCHEMA_NAME_MAX];
	const struct key *key; /* NULL: a group, a mapping of its own */
	struct schema_node *child, *next;
};
const struct schema_node *schema_root(void);
const struct schema_node *schema_child(const struct schema_node *group, const char *name); /* NULL: none */

/* The node of a path; "images[]" and "images" are the same one. */
const struct schema_node *schema_node_of(const char *path);

const struct key *schema_find(const char *path); /* list indexes as "[]" */

/* The allowed words of "a|b|c". *p starts at the text; false at the end; word gets at most size - 1
 * bytes. */
bool schema_next_word(const char **p, char *word, size_t size);

/* "must be one of [a b c]; got "x"; did you mean b?" when text is not among the row's allowed
 * words. */
int schema_check_word(const struct key *k, const char *text, struct err *e);

/* The bounds of a number (KEY_COUNT, KEY_PORT). */
void schema_bounds(const struct key *k, uint64_t *low, uint64_t *high);

/* Parses text into the field at *field by the row's type (scalars only) and checks allowed. */
int schema_set(const struct key *k, void *field, const char *text, struct err *e);
/* Frees what the rows of a group ("": struct cfg, "mounts[]": one of them) hold in their struct. */
void schema_clear(const char *group, void *base);

#endif
