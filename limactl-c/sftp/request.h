/* request.h - a packet being answered, and what the operations share. Only for the files of this folder. */
#ifndef LIMA_SFTP_REQUEST_H
#define LIMA_SFTP_REQUEST_H

#include <dirent.h>
#include <stdbool.h>
#include <stdint.h>

#include "limactl-c/sftp/packet.h"
#include "limactl-c/sftp/server.h"
#include "limactl-c/sftp/tree.h"

enum {
	HANDLES_MAX = 4000,
	MODE_MASK = 01777, /* not set-user-ID and set-group-ID */
};

struct handle {
	int fd; /* -1: it is free */
	DIR *dir; /* NULL: it is a file, fd is our own */
	char *path; /* of a folder */
};

struct sftp {
	struct tree tree;
	bool readonly;
	struct handle handle[HANDLES_MAX];
};

struct request {
	struct sftp *s;
	struct sftp_in in;
	uint32_t id;
	struct buf *out;
};

/* --- answers --- */

void sftp_answer_status(struct request *q, int errnum);
int sftp_answer_attrs(struct request *q, const struct stat *st); /* ANSWERED */
int sftp_result(int rc); /* what an operation returns, for calls that return -1 with errno set */

/* --- handles --- */

int sftp_new_handle(struct request *q, struct handle is); /* is is taken, and told the client */
struct handle *sftp_get_handle(struct request *q, bool folder); /* NULL: there is none, or the packet is bad */
void sftp_close_handle(struct handle *h); /* also one that is free */

/* --- operations: 0, an errno value, or ANSWERED when the answer was written --- */

enum { ANSWERED = -1 };

int sftp_do_close(struct request *q);
int sftp_do_open(struct request *q);
int sftp_do_read(struct request *q);
int sftp_do_write(struct request *q);
int sftp_do_lstat(struct request *q);
int sftp_do_stat(struct request *q);
int sftp_do_fstat(struct request *q);
int sftp_do_setstat(struct request *q);
int sftp_do_fsetstat(struct request *q);
int sftp_do_readlink(struct request *q);
int sftp_do_statvfs(struct request *q);
int sftp_do_opendir(struct request *q);
int sftp_do_readdir(struct request *q);
int sftp_do_remove(struct request *q);
int sftp_do_rmdir(struct request *q);
int sftp_do_mkdir(struct request *q);
int sftp_do_rename(struct request *q);
int sftp_do_posix_rename(struct request *q);
int sftp_do_hardlink(struct request *q);
int sftp_do_fsync(struct request *q);
int sftp_do_symlink(struct request *q);

#endif
