/* yscalar.h - what a YAML scalar means: the core schema of YAML 1.2. */
#ifndef LIMA_YSCALAR_H
#define LIMA_YSCALAR_H

#include <stdint.h>

#include "limactl-c/yaml/ynode.h"

/* Quoted scalars and those tagged !!str (or "!") are strings; plain ones are what they look like,
 * and must be when a core tag says so. -1: a tag that is not of the core schema, or that the text
 * does not fit. */
int yscalar_kind(const char *tag, bool plain, const char *text, size_t len, enum yn_kind *kind);

/* A key that was read as << without quotes and tag; one that was made is a key like any other. */
bool yscalar_is_merge_key(const struct ynode *key);

/* A whole number as YAML writes it (decimal, 0o17, 0x1f); false when it is none, negative or too
 * large. */
bool yscalar_uint(const char *text, uint64_t *out);
bool yscalar_int(const char *text, int64_t *out); /* the same, negative ones too */

/* The shortest text that reads as d, which is finite: as few digits as give it back; an exponent below -4 and from 6 on, as
 * Go writes them. */
void yscalar_float(double d, char out[32]);

#endif
