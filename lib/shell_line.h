/* shell_line.h - words as a line that a POSIX shell takes apart again. */
#ifndef LIMA_SHELL_LINE_H
#define LIMA_SHELL_LINE_H

#include "lib/buf.h"

/* The words as one line for a shell, byte for byte; leading NAME=VALUE words stay assignments. -1 when out is full. */
int shell_line(struct buf *out, const char *const *argv, size_t argc);

#endif
