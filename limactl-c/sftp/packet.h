/* packet.h - SFTP version 3 packets (draft-ietf-secsh-filexfer-02): big-endian integers, strings with a length. */
#ifndef LIMA_SFTP_PACKET_H
#define LIMA_SFTP_PACKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "lib/buf.h"

enum {
	SFTP_INIT = 1, SFTP_VERSION, SFTP_OPEN, SFTP_CLOSE, SFTP_READ, SFTP_WRITE, SFTP_LSTAT, SFTP_FSTAT, SFTP_SETSTAT,
	SFTP_FSETSTAT, SFTP_OPENDIR, SFTP_READDIR, SFTP_REMOVE, SFTP_MKDIR, SFTP_RMDIR, SFTP_REALPATH, SFTP_STAT, SFTP_RENAME,
	SFTP_READLINK, SFTP_SYMLINK,
	SFTP_STATUS = 101, SFTP_HANDLE, SFTP_DATA, SFTP_NAME, SFTP_ATTRS,
	SFTP_EXTENDED = 200, SFTP_EXTENDED_REPLY,
};
enum { SFTP_OK, SFTP_EOF, SFTP_NO_SUCH_FILE, SFTP_DENIED, SFTP_FAILURE, SFTP_BAD_MESSAGE, SFTP_UNSUPPORTED = 8 };
enum { SFTP_READS = 1, SFTP_WRITES = 2, SFTP_APPENDS = 4, SFTP_CREATES = 8, SFTP_TRUNCATES = 16, SFTP_EXCLUSIVE = 32 };
enum { SFTP_HAS_SIZE = 1, SFTP_HAS_OWNER = 2, SFTP_HAS_MODE = 4, SFTP_HAS_TIMES = 8 };

enum {
	SFTP_PACKET_MAX = 264 * 1024, /* bytes behind the length; what is written with one has 256 KiB at most */
	SFTP_DATA_MAX = 256 * 1024,
	SFTP_PATH_MAX = 4096,         /* with the NUL */
};

struct sftp_attrs {
	uint32_t has; /* SFTP_HAS_* */
	uint64_t size;
	uint32_t uid, gid, mode, atime, mtime; /* seconds */
};

/* A packet being read. What is not there, or too long, sets bad, and reads as nothing from then on. */
struct sftp_in {
	const uint8_t *p;
	size_t left;
	bool bad;
};

uint8_t sftp_get8(struct sftp_in *in);
uint32_t sftp_get32(struct sftp_in *in);
uint64_t sftp_get64(struct sftp_in *in);
const uint8_t *sftp_get_bytes(struct sftp_in *in, size_t *n); /* a string; borrowed */
void sftp_get_text(struct sftp_in *in, char text[SFTP_PATH_MAX]); /* one without NUL */
void sftp_get_attrs(struct sftp_in *in, struct sftp_attrs *a);

/* A packet being written: from sftp_begin_packet(), which returns its place in out, to sftp_end_packet(). Memory shortage
 * aborts. */
size_t sftp_begin_packet(struct buf *out, uint8_t type, uint32_t id);
void sftp_end_packet(struct buf *out, size_t at);
void sftp_put32(struct buf *out, uint32_t v);
void sftp_set32(struct buf *out, size_t at, uint32_t v); /* in place of one that was put at that offset */
void sftp_put64(struct buf *out, uint64_t v);
void sftp_put_bytes(struct buf *out, const void *p, size_t n);
void sftp_put_text(struct buf *out, const char *text);
void sftp_put_attrs(struct buf *out, const struct stat *st);

#endif
