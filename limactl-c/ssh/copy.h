/* copy.h - what "files send" and "files receive" of the guest agent are, done by SFTP: records of lib/fileproto on one side,
 * the guest's files on the other. A process of its own for each copy. */
#ifndef LIMA_SSH_COPY_H
#define LIMA_SSH_COPY_H

#include "limactl-c/ssh/connection.h"

#define COPY_WORD "copy"

/* word: "send" or "receive", letters of flags, then paths. Records go over the descriptor fd. */
int copying_run(struct server *server, int fd, char *const *word, struct err *e);

#endif
