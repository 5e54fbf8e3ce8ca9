/* functions.h - what the files with functions share. Private to gotmpl/. */
#ifndef LIMA_GOTMPL_FUNCTIONS_H
#define LIMA_GOTMPL_FUNCTIONS_H

#include "limactl-c/gotmpl/tree.h"

struct buf run_buffer(void); /* empty, for one text */
int run_string(struct run *r, const struct buf *b, struct value *out); /* its text, copied to the pool */

int call_printf(struct run *r, const struct function *f, const struct value *v, size_t n, struct value *out);

/* Lima's own. */
int call_json(struct run *r, const struct function *f, const struct value *v, size_t n, struct value *out);
int call_yaml(struct run *r, const struct function *f, const struct value *v, size_t n, struct value *out);
int call_indent(struct run *r, const struct function *f, const struct value *v, size_t n, struct value *out);
int call_missing(struct run *r, const struct function *f, const struct value *v, size_t n, struct value *out);

#endif
