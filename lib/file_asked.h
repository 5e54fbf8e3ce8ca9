/* file_asked.h - whether what a sender sends is what it was asked for: who is not trusted would else choose what in the target's
 * folder it replaces. */
#ifndef LIMA_FILE_ASKED_H
#define LIMA_FILE_ASKED_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/err.h"
#include "lib/fileproto.h"

struct file_asked {
	const char *const *path; /* as the sender got them; their last components may be patterns */
	size_t paths;
	bool recursive;
};

/* An entry that lies in no other one. -1: it was not asked for. A link is never: links that are named are followed. */
int file_asked_check(const struct file_asked *a, enum fp_type type, const char *name, struct err *e);

#endif
