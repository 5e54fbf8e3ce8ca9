/* guest_files.h - the guest's end of a copy: lib/fileproto with `files` of its agent (guestagent/files.h), within exec records. */
#ifndef LIMA_CLI_GUEST_FILES_H
#define LIMA_CLI_GUEST_FILES_H

#include "lib/buf.h"
#include "lib/filestream.h"
#include "limactl-c/store/inst.h"

struct guest_files {
	const struct inst *inst; /* borrowed */
	int fd;
	struct buf in;    /* exec records that came before they were wanted */
	size_t left;      /* bytes of output the record we are in still has */
	bool ended;
	char said[600];   /* the beginning of what it said on standard error */
	size_t said_len;
};

/* Starts `files WORD...` there. Whatever comes, guest_files_close() is allowed then. */
int guest_files_open(struct guest_files *g, const struct inst *i, const char *const *word, size_t words, struct err *e);
void guest_files_close(struct guest_files *g);

extern const struct fstream_ops guest_files_ops; /* ctx: struct guest_files. An interrupt is an error */

/* From now on SIGINT, SIGTERM and SIGHUP end waiting, so that things can be tidied up. */
void guest_files_catch(void);
/* Does what the signal that came would have done; nothing when none came. */
void guest_files_obey(void);

#endif
