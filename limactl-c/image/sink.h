/* sink.h - where an image's bytes go: hashed, written, runs of zeros left as holes. */
#ifndef LIMA_IMAGE_SINK_H
#define LIMA_IMAGE_SINK_H

#include <stdint.h>

#include "limactl-c/image/digest.h"
#include "limactl-c/image/newfile.h"

/* An image larger than this is refused: no disk here holds it, and a packed one may claim any size. */
#define SINK_MAX_BYTES (1ULL << 40)

struct sink {
	const struct newfile *to; /* borrowed */
	const struct digest *want; /* borrowed; NULL: any */
	struct hash *hash;         /* owned */
	uint64_t len, max;
};

#define SINK_INIT { 0 }

/* want: the digest the bytes must have, or NULL. max is SINK_MAX_BYTES, until the caller lowers it. */
int sink_open(struct sink *s, const struct newfile *to, const struct digest *want, struct err *e);
/* Takes what the file holds already for the first bytes. */
int sink_resume(struct sink *s, struct err *e);
/* Forgets all that was written. */
int sink_restart(struct sink *s, struct err *e);
int sink_write(struct sink *s, const void *p, size_t n, struct err *e);
/* All of a file, by shared blocks where the file system can; nothing was written before. */
int sink_copy_file(struct sink *s, int fd, struct err *e);
/* Ends the file at its length and checks the digest. */
int sink_end(struct sink *s, struct digest *sha256, struct err *e);
void sink_fini(struct sink *s);

#define auto_sink CLEANUP(sink_fini) struct sink

#endif
