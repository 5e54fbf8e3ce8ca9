/* number.h - numbers as yq reads and writes them. */
#ifndef LIMA_YQ_NUMBER_H
#define LIMA_YQ_NUMBER_H

#include "limactl-c/yq/tree.h"

enum yq_base { YQ_DECIMAL, YQ_OCTAL, YQ_HEX };

/* A whole number: decimal, 0o17 or 0x1f. base (may be NULL) tells how it was written. False: none, or out of range. */
bool yq_parse_int(const char *text, int64_t *out, enum yq_base *base);
bool yq_parse_float(const char *text, double *out); /* decimal only; false when out of range too */

/* Nodes; they fail when the number cannot be written: 0x of a negative, infinity, not a number. */
struct yq_node *yq_int_node(struct yq_run *r, int64_t n, enum yq_base base);
/* The shortest text that reads as d; 1e+06 from a million on. */
struct yq_node *yq_float_node(struct yq_run *r, double d);

#endif
