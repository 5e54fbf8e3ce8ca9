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

/* Appends what comes up to the end, refusing more than b->max has room for. name is what messages call it. */
int io_read_end(int fd, const char *name, struct buf *b, struct err *e);
/* The same of a file; a pipe or device in its place is refused, for it might never end. */
int io_read_file(const char *path, struct buf *b, struct err *e);

/* Opens 0, 1 and 2 where they are closed, so that no other file takes their number; using them fails as before. */
void io_keep_std(void);

/* A pipe, both ends close-on-exec: fd[0] to read, fd[1] to write. */
int io_pipe(int fd[2], struct err *e);
/* All of what fd is open for, to be read and written with others who have it; *n its bytes. NULL: there is none, or fd is -1. fd
 * may be closed afterwards. */
void *io_map_shared(int fd, size_t *n);
/* Two ends of a stream of this machine, both close-on-exec. */
int io_socketpair(int fd[2], struct err *e);

int io_set_nonblock(int fd, bool on); /* -1 with errno set */
int io_set_cloexec(int fd, bool on);  /* -1 with errno set */

#endif
