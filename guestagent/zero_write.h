/* zero_write.h - a write of nothing: who watches the file is told that it was modified, and nothing of it changes.
 *
 * write() of no bytes tells nobody. A write of io_uring tells when it is through, however much it wrote; the file system,
 * asked for nothing, does not ask its server. Raw system calls: one request at a time is all there is to it.
 */
#ifndef LIMA_GUESTAGENT_ZERO_WRITE_H
#define LIMA_GUESTAGENT_ZERO_WRITE_H

#include <stddef.h>
#include <stdint.h>

#include "lib/err.h"

struct zero_write {
	int ring;
	uint8_t *sq, *cq; /* mapped */
	size_t sq_len, cq_len;
	void *sqes;
	size_t sqes_len;
	uint32_t sq_tail, sq_mask, sq_array, cq_head, cq_tail, cq_mask, cq_cqes; /* where in them, but for the masks */
};

/* Tries it on a file of its own, too: -1 when this kernel has no such thing, or tells nobody. */
int zero_write_open(struct zero_write *z, struct err *e);
void zero_write_close(struct zero_write *z);
/* fd is open for writing. -1 with errno set; ring is -1 when it is of no use any more, as it may be before. */
int zero_write(struct zero_write *z, int fd);

#endif
