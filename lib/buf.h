/* buf.h - growable bytes with a maximum, always NUL-terminated once anything was added. */
#ifndef LIMA_BUF_H
#define LIMA_BUF_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/cleanup.h"
#include "lib/err.h"

struct buf {
	char *data; /* NULL until something was added; owned */
	size_t len; /* bytes in use, without the NUL */
	size_t cap; /* bytes allocated */
	size_t max; /* len never exceeds it */
};

#define BUF_INIT(maximum) { .max = (maximum) }

void buf_free(struct buf *b); /* also makes it empty and reusable */

/* Each returns 0, or -1 when max would be exceeded or memory is short; the buffer is then unchanged. */
int buf_add(struct buf *b, const void *p, size_t n);
int buf_adds(struct buf *b, const char *s);
int buf_addf(struct buf *b, const char *fmt, ...) ERR_FMT(2, 3);

/* Room for n more bytes at the returned place; buf_commit() then says how many were used. NULL as above. */
char *buf_reserve(struct buf *b, size_t n);
void buf_commit(struct buf *b, size_t n);

void buf_drop_front(struct buf *b, size_t n); /* n <= len */

bool buf_same(const struct buf *a, const struct buf *b); /* the same bytes */

#define auto_buf CLEANUP(buf_free) struct buf

#endif
