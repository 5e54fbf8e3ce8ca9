/* text.h - small texts for people. */
#ifndef LIMA_TEXT_H
#define LIMA_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/err.h"

/* Bytes as "4GiB", "1.5GiB", "512MiB", "100B": the largest unit, exact when it divides into it,
 * else rounded to two decimals. malloc'd. */
char *text_size(uint64_t bytes);

/* Control characters become "?", in place: a text of somebody else's stays one line and moves no cursor. */
void text_make_plain(char *s);

/* Whether s is end with something before it. */
bool text_ends_with(const char *s, const char *end);

/* Lima's rule for names of instances and disks: ^[A-Za-z0-9]+(?:[._-](?:[A-Za-z0-9]+))*$, at most 76, not ending in .yml or
 * .yaml. -1: e says what is wrong, in words that follow the name. */
int text_check_name(const char *name, struct err *e);

/* Length of the well-formed UTF-8 character at s, 0 when there is none. */
size_t text_utf8_length(const char *s);
/* Its code point; *len 0 when there is none. */
uint32_t text_utf8_char(const char *s, size_t *len);
/* How many characters begin in len bytes. */
size_t text_utf8_count(const char *s, size_t len);
/* Where the character of index n begins in len bytes; len when there are not so many. */
size_t text_utf8_offset(const char *s, size_t len, size_t n);
bool text_is_utf8(const char *s);

/* Seconds as "1h", "1m30s", "0s". malloc'd. */
char *text_duration(uint64_t seconds);

/* The time now as events have it, "2026-11-30T08:59:57.949930255Z": what is later is greater as a text too. */
void text_now(char *text, size_t size);

/* The known word most like word (letters swapped, left out, added, changed; case counts little), or
 * NULL when none is close enough to be meant. Borrowed from known. */
const char *text_nearest(const char *word, const char *const *known, size_t count);

#endif
