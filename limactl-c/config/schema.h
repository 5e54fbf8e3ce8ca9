/* schema.h - the table of keys: what the parser, the defaults, the dump, the messages and
 * docs/config.md are made of. */
#ifndef LIMA_SCHEMA_H
#define LIMA_SCHEMA_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/err.h"

enum key_type {
	KEY_STRING,  /* char * */
	KEY_BOOL,    /* bool */
	KEY_COUNT,   /* uint32_t */
	KEY_PORT,    /* uint32_t, 0 = not set */
	KEY_SIZE,    /* uint64_t, bytes */
	KEY_SECONDS, /* uint32_t */
	KEY_RANGE,   /* uint32_t[2], two ports; 0 = not set */
	KEY_FLAGS,   /* bool for each allowed word, in that order; a list of words */
	KEY_PAIRS,   /* struct cfg_env * and count; a mapping of text to text */
	KEY_STRINGS, /* char ** and count */
	KEY_LIST,    /* array and count of structs; rows "PATH[].…" describe one */
	KEY_LATER,   /* a key of Lima we do not have yet; only its default is accepted */
	KEY_TYPES
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
	const char *later;   /* words Lima allows besides, which we do not have yet */
	const char *help;    /* one line */
};

extern const struct key schema[];
extern const size_t schema_count;

const struct key *schema_find(const char *path); /* list indexes as "[]" */
bool schema_is_group(const char *path);          /* rows lie below it: a mapping of its own */
/* Key names directly below a group ("" = top) into names[max] as malloc'd words without repeats;
 * returns how many. */
size_t schema_children(const char *group, char **names, size_t max);

/* The allowed words of "a|b|c". *p starts at the text; false at the end; word gets at most size - 1
 * bytes. */
bool schema_next_word(const char **p, char *word, size_t size);

/* "must be one of [a b c]; got "x"; did you mean b?" when text is not among the row's allowed
 * words. */
int schema_check_word(const struct key *k, const char *text, struct err *e);

/* Parses text into the field at *field by the row's type (scalars only) and checks allowed. */
int schema_set(const struct key *k, void *field, const char *text, struct err *e);
void schema_clear(const struct key *k,
		  void *base); /* frees what the row's field holds; base = its struct */

#endif
