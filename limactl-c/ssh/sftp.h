/* sftp.h - files of the guest by SFTP: calls that wait, over a connection of their own. Errors are sentences without the path. */
#ifndef LIMA_SSH_SFTP_H
#define LIMA_SSH_SFTP_H

#include <libssh2_sftp.h>

#include "limactl-c/ssh/connection.h"

struct sftp {
	struct connection *conn;
	LIBSSH2_SFTP *ssh;
	int host; /* the descriptor whose other end's end ends what is waited for, once; -1: none */
};

int sftp_begin(struct sftp *s, struct server *server, int host, struct err *e);
void sftp_end(struct sftp *s); /* also of one that has not begun */
bool sftp_is_lost(const struct sftp *s); /* the connection, so that nothing else will work */

/* LIBSSH2_SFTP_STAT, LSTAT, SETSTAT. */
int sftp_attributes(struct sftp *s, const char *path, int what, LIBSSH2_SFTP_ATTRIBUTES *a, struct err *e);
/* LIBSSH2_SFTP_READLINK, REALPATH: what is to be read, size with the NUL. One with a NUL in it is an error. */
int sftp_read_link(struct sftp *s, const char *path, int what, char *text, size_t size, struct err *e);
int sftp_make_link(struct sftp *s, const char *says, const char *path, struct err *e);
int sftp_make_folder(struct sftp *s, const char *path, struct err *e); /* mode 0700 */
int sftp_remove(struct sftp *s, const char *path, struct err *e);      /* no folder */
/* What lies at to is replaced, unless it is a folder. Where the server cannot do that at once there is nothing for a moment. */
int sftp_replace(struct sftp *s, const char *from, const char *to, struct err *e);

/* flags: LIBSSH2_FXF_*; 0: a folder, to be listed. New files have mode 0600. */
LIBSSH2_SFTP_HANDLE *sftp_open(struct sftp *s, const char *path, unsigned long flags, struct err *e);
void sftp_close(struct sftp *s, LIBSSH2_SFTP_HANDLE *h);
ssize_t sftp_read(struct sftp *s, LIBSSH2_SFTP_HANDLE *h, void *p, size_t n, struct err *e); /* 0: the end */
int sftp_write(struct sftp *s, LIBSSH2_SFTP_HANDLE *h, const void *p, size_t n, struct err *e); /* all of it */
int sftp_handle_attributes(struct sftp *s, LIBSSH2_SFTP_HANDLE *h, bool set, LIBSSH2_SFTP_ATTRIBUTES *a, struct err *e);
/* The next name of a folder: its length, 0 at the end. Names are the server's: anything can be in them. */
ssize_t sftp_next(struct sftp *s, LIBSSH2_SFTP_HANDLE *h, char *name, size_t size, LIBSSH2_SFTP_ATTRIBUTES *a, struct err *e);

#endif
