/* sftp_receive.h - lib/fileproto records made into files, folders and links of the guest: lib/file_receive.h by SFTP.
 *
 * A file is written beside its place under a name of its own and gets its name when it is whole. None is gone on with: what was
 * cut is removed, and nothing is offered. */
#ifndef LIMA_SSH_SFTP_RECEIVE_H
#define LIMA_SSH_SFTP_RECEIVE_H

#include "lib/filestream.h"
#include "limactl-c/ssh/sftp.h"

struct sftp_receive {
	struct sftp *sftp;
	struct fstream *stream;
	const char *target;
	bool folder; /* it has to be a folder that is there */
	/* Something could not be made; the rest goes on. */
	void (*problem)(void *ctx, const char *text);
	void *ctx;
};

/* Receives up to the sender's END. -1: the copy ended early. */
int sftp_receive(const struct sftp_receive *r, struct err *e);

#endif
