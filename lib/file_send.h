/* file_send.h - reads files, folders and links and sends them as lib/fileproto records.
 *
 * Trees are walked by descriptor and links in them are never followed, so nobody can lead the walk out of what was named.
 */
#ifndef LIMA_FILE_SEND_H
#define LIMA_FILE_SEND_H

#include "lib/filestream.h"
#include "lib/filewatch.h"

/* From so many bytes on the receiver is asked what it has already. */
enum { FILE_SEND_ASK = 1 << 20 };

struct file_send {
	struct fstream *stream;
	const struct file_watch *watch; /* its problem is the one that counts: what could not be read */
	bool recursive; /* folders too; else they are problems */
	uint64_t total; /* bytes file_send_count() has found */
};

/* Adds what path amounts to; nothing is sent. */
int file_send_count(struct file_send *s, const char *path, struct err *e);
/* Sends what path names, a link followed. What cannot be read is a problem; -1 only when the stream fails. The name at the
 * other end is the last component of path; of "." and the like, what is in it goes into the target itself. */
int file_send(struct file_send *s, const char *path, struct err *e);

#endif
