/* io.h - reads and writes that survive EINTR and short counts. */
#ifndef LIMA_IO_H
#define LIMA_IO_H

#include <sys/types.h>

#include "lib/buf.h"
#include "lib/err.h"

/* Writes all of it to a blocking descriptor. -1 with errno set. */
int io_write_full(int fd, const void *p, size_t n);

/* Reads until end of file or n bytes; returns the count, -1 with errno set. */
ssize_t io_read_full(int fd, void *p, size_t n);

/* Reads a whole file into b, refusing one larger than b->max. */
int io_read_file(const char *path, struct buf *b, struct err *e);

int io_set_nonblock(int fd, bool on); /* -1 with errno set */
int io_set_cloexec(int fd, bool on);  /* -1 with errno set */

#endif
