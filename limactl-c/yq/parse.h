/* parse.h - tokens → a tree of operators, with yq's precedences. */
#ifndef LIMA_YQ_PARSE_H
#define LIMA_YQ_PARSE_H

#include "limactl-c/yq/op.h"

/* at: the character the text begins at. NULL when it failed, and for an empty expression (which gives its input). */
struct yq_exp *yq_parse(struct yq_run *r, const char *text, size_t at);

#endif
