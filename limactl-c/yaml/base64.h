/* base64.h - bytes as !!binary writes them. */
#ifndef LIMA_YAML_BASE64_H
#define LIMA_YAML_BASE64_H

#include <stddef.h>

/* Blanks and line ends between the digits do not count; -1: not base64. out has room for len / 4 * 3 + 3 bytes; returns how
 * many were written. */
long base64_decode(const char *text, size_t len, char *out);

/* The four digits of up to three bytes, n of them there. */
void base64_quad(const char *bytes, size_t n, char out[4]);

#endif
