/* sftp_send.h - files, folders and links of the guest as lib/fileproto records: lib/file_send.h by SFTP. What is already there
 * at the other end is not asked for. */
#ifndef LIMA_SSH_SFTP_SEND_H
#define LIMA_SSH_SFTP_SEND_H

#include "lib/filestream.h"
#include "limactl-c/ssh/sftp.h"

struct sftp_send {
	struct sftp *sftp;
	struct fstream *stream;
	bool recursive;
	uint64_t total; /* bytes sftp_send_count() has found */
};

/* What a word names: a path, or where there is none the names its last component is a pattern of. What cannot be read is a
 * problem told by the stream; -1 only when that or the connection fails. */
int sftp_send(struct sftp_send *s, const char *word, struct err *e);
int sftp_send_count(struct sftp_send *s, const char *word, struct err *e); /* nothing is sent */

/* A name as a server said it, made a component of a path. False: it cannot be one. "." and ".." are skipped: false, too. */
bool sftp_send_name(char *name, size_t len);

#endif
