/* file_receive.h - lib/fileproto records made into files, folders and links below one target.
 *
 * The sender is not trusted: it names what it was asked for, its names are single components, folders are entered by
 * descriptor, a link is never followed but replaced. A file is written beside its place under a name of its own and renamed
 * when it is whole: what was there stays until then. A large one that was cut short is kept under that name, and the next copy
 * to the same place goes on with it.
 */
#ifndef LIMA_FILE_RECEIVE_H
#define LIMA_FILE_RECEIVE_H

#include "lib/file_asked.h"
#include "lib/filestream.h"
#include "lib/filewatch.h"

/* A file of so many bytes is kept when the stream is cut. */
enum { FILE_RECEIVE_KEEP = 1 << 20 };

struct file_receive {
	struct fstream *stream;
	const struct file_watch *watch;
	const char *target; /* of the receiver's own user: links in it are followed */
	bool folder;        /* it has to be a folder that is there: more than one thing is copied */
	uint32_t mode_mask; /* bits of a mode that are taken over */
	const struct file_asked *asked; /* NULL: the sender may choose */
};

/* Receives up to the sender's END. What could not be made is a problem and the rest goes on; -1: the copy ended early, by the
 * stream, by a malformed record, because the target will not do or the disk is full. */
int file_receive(const struct file_receive *r, struct err *e);

#endif
