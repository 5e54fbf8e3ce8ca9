/* filestream.h - lib/fileproto records over something that reads and writes bytes, blocking. */
#ifndef LIMA_FILESTREAM_H
#define LIMA_FILESTREAM_H

#include "lib/err.h"
#include "lib/fileproto.h"
#include "lib/filewatch.h"

/* What carries the bytes. */
struct fstream_ops {
	ssize_t (*read)(void *ctx, void *p, size_t n, struct err *e); /* at least one byte; 0 at the end, -1 */
	int (*write)(void *ctx, const void *p, size_t n, struct err *e); /* all of them, or -1 */
};

struct fstream {
	const struct fstream_ops *ops;
	void *ctx;
	bool greets;  /* we have said the magic, */
	bool greeted; /* the other side has */
	uint8_t *out, *in;
	size_t out_len, in_at, in_len;
};

/* The magic is the first thing to be sent. -1 when memory is short; fini is allowed then, too. */
int fstream_init(struct fstream *s, const struct fstream_ops *ops, void *ctx, struct err *e);
void fstream_fini(struct fstream *s);

/* Over two blocking descriptors, which are borrowed. */
struct fstream_fds {
	int in, out;
};
extern const struct fstream_ops fstream_over_fds; /* ctx: struct fstream_fds */

/* Appends a record; what was appended is sent when there is much of it, and by fstream_flush(). */
int fstream_put(struct fstream *s, enum fp_type type, const void *payload, size_t len, struct err *e);
int fstream_put_u64(struct fstream *s, enum fp_type type, uint64_t v, struct err *e);
int fstream_put_entry(struct fstream *s, enum fp_type type, const struct fp_entry *v, struct err *e);
int fstream_put_problem(struct fstream *s, const char *text, bool warning, struct err *e);
int fstream_flush(struct fstream *s, struct err *e);

/* Room for the payload of a DATA record, FP_PAYLOAD_MAX bytes; put_data then says how many were filled in. NULL: -1. */
uint8_t *fstream_data(struct fstream *s, struct err *e);
void fstream_put_data(struct fstream *s, size_t len);

/* A record of the other side. */
struct fstream_record {
	enum fp_type type;
	const uint8_t *payload; /* until the next call */
	size_t len;
};
/* The next one, flushing ours first. -1: the stream ended or is malformed. */
int fstream_next(struct fstream *s, struct fstream_record *r, struct err *e);
/* The number a record of that kind is; -1 when it is none, or larger than a file can be and not FP_UNWANTED. */
int fstream_u64(const struct fstream_record *r, uint64_t *v, struct err *e);
/* Tells watch what a PROBLEM says, in one line without control characters. */
int fstream_problem(const struct fstream_record *r, const struct file_watch *watch, struct err *e);
/* The OFFER that was asked for. -1, too, when the receiver has ended instead: watch was told why. */
int fstream_offer(struct fstream *s, const struct file_watch *watch, struct fstream_record *r, struct err *e);
int fstream_malformed(struct err *e); /* -1 */

#endif
