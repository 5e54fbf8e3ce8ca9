#include "lib/buf.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void buf_free(struct buf *b)
{
	free(b->data);
	b->data = NULL;
	b->len = b->cap = 0;
}

char *buf_reserve(struct buf *b, size_t n)
{
	size_t cap = b->cap ? b->cap : 64;
	char *p;

	if (n > b->max || b->len > b->max - n)
		return NULL;
	if (b->cap <= b->len + n) {
		while (cap <= b->len + n)
			cap *= 2;
		p = realloc(b->data, cap);
		if (!p)
			return NULL;
		b->data = p;
		b->cap = cap;
	}
	return b->data + b->len;
}

void buf_commit(struct buf *b, size_t n)
{
	b->len += n;
	b->data[b->len] = '\0';
}

int buf_add(struct buf *b, const void *p, size_t n)
{
	char *to = buf_reserve(b, n);

	if (!to)
		return -1;
	if (n)
		memcpy(to, p, n);
	buf_commit(b, n);
	return 0;
}

int buf_adds(struct buf *b, const char *s)
{
	return buf_add(b, s, strlen(s));
}

int buf_addf(struct buf *b, const char *fmt, ...)
{
	va_list ap;
	char *to;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	if (n < 0 || !(to = buf_reserve(b, (size_t)n)))
		return -1;
	va_start(ap, fmt);
	vsnprintf(to, (size_t)n + 1, fmt, ap);
	va_end(ap);
	buf_commit(b, (size_t)n);
	return 0;
}

void buf_drop_front(struct buf *b, size_t n)
{
	if (!n)
		return;
	b->len -= n;
	memmove(b->data, b->data + n, b->len + 1);
}

bool buf_same(const struct buf *a, const struct buf *b)
{
	return a->len == b->len && (!a->len || !memcmp(a->data, b->data, a->len));
}
