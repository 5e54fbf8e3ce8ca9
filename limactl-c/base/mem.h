/* mem.h - allocation for the host's programs: running out of memory aborts with a sentence. */
#ifndef LIMA_MEM_H
#define LIMA_MEM_H

#include <stdarg.h>
#include <stddef.h>

#include "lib/err.h"

/* Each returns memory the caller frees, never NULL. A size of 0 gives a valid pointer. */
void *xmalloc(size_t size) __attribute__((malloc));
void *xcalloc(size_t count, size_t size) __attribute__((malloc));
void *xrealloc(void *p, size_t size);
void *xrealloc_array(void *p, size_t count, size_t size); /* aborts when count * size overflows */
char *xstrdup(const char *s) __attribute__((malloc));
char *xstrndup(const char *s, size_t n) __attribute__((malloc)); /* at most n bytes of s */
char *xasprintf(const char *fmt, ...) ERR_FMT(1, 2);
char *xvasprintf(const char *fmt, va_list ap) ERR_FMT(1, 0);

#endif
