/* shared.h - memory that the guest agent sees too (docs/protocol.md), mapped. */
#ifndef LIMA_HOSTAGENT_SHARED_H
#define LIMA_HOSTAGENT_SHARED_H

#include <stddef.h>

struct shared_memory {
	void *p; /* NULL: none */
	size_t size;
};

/* Takes fd, which may be -1; where it cannot be mapped there is none. */
void shared_map(struct shared_memory *s, int fd);
void shared_unmap(struct shared_memory *s);

#endif
