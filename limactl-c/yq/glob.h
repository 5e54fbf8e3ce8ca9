/* glob.h - the patterns of keys and of ==: * is any text, ? any one byte. */
#ifndef LIMA_YQ_GLOB_H
#define LIMA_YQ_GLOB_H

#include <stdbool.h>
#include <stddef.h>

bool yq_glob(const char *text, size_t len, const char *pattern, size_t pattern_len);

#endif
