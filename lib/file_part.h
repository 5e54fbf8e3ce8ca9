/* file_part.h - a file in the making: beside its place, renamed when it is whole. */
#ifndef LIMA_FILE_PART_H
#define LIMA_FILE_PART_H

#include "lib/err.h"
#include "lib/fileproto.h"

struct file_part {
	int dir;            /* where it will be; borrowed */
	struct fp_entry v;
	char name[40];      /* while it is made */
	int fd;             /* -1: there is none (yet) */
	int left;           /* what an earlier copy left, once it was offered and until it is gone on with; else -1 */
	bool same;          /* the file in place may be the very same: it was offered */
	uint64_t at, offer; /* bytes that are there; that were offered */
};
#define FILE_PART_INIT { .dir = -1, .fd = -1, .left = -1 }

/* All return -1 with *e, a sentence without the name. */

/* What can be offered of the file v that will lie in dir: p->offer and its hash. Nothing is changed,
 * and no other copy can write to it until file_part_begin() or _drop(). */
int file_part_offer(struct file_part *p, int dir, const struct fp_entry *v, uint64_t *hash, struct err *e);
/* Opened so that p->at is from: 0, or what was offered. */
int file_part_begin(struct file_part *p, uint64_t from, struct err *e);
int file_part_write(struct file_part *p, const void *bytes, size_t n, struct err *e);
int file_part_hole(struct file_part *p, uint64_t n, struct err *e);
/* Whole: it gets mode, time and its name, and replaces what was there. */
int file_part_finish(struct file_part *p, uint64_t size, uint32_t mode, struct err *e);
/* Gives it up; keep: what is there may be gone on with. */
void file_part_drop(struct file_part *p, bool keep);

/* A symbolic link, made likewise. */
int file_part_link(int dir, const struct fp_entry *v, struct err *e);

#endif
