/* run.h - a command run in the guest for ourselves: what goes to its standard input, what came out, how it ended.
 *
 * The guest is not trusted: what it sends is bounded, and a command that sends more is ended.
 */
#ifndef LIMA_HOSTAGENT_RUN_H
#define LIMA_HOSTAGENT_RUN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/buf.h"
#include "lib/execproto.h"
#include "limactl-c/hostagent/guest.h"

enum {
	RUN_ERR_MAX = 1024,     /* kept of its standard error: the end */
	RUN_FAILED = -1,        /* it could not be started, or the link to it was lost */
	RUN_TOO_LARGE = -2,
	RUN_WRITE_FAILED = -3,  /* the file its output goes to is full or broken; errno is in errnum */
};

struct run {
	/* Set by the user; all is borrowed until done() was called. */
	struct ep_start start;
	const char *input;
	size_t input_len;
	struct buf out; /* its standard output, up to out.max; with out_fd >= 0 that much is written there instead */
	int out_fd;
	void (*done)(struct run *r); /* once, possibly before run_start() returns; r may be used again */
	void *ctx;                   /* the user's */

	/* For done(). */
	int status; /* exit code, 128 + signal, or one of the above */
	int errnum;
	char err[RUN_ERR_MAX + 1]; /* without the newline at the end; why, with RUN_FAILED */
	size_t err_len;

	struct stream st;
	bool busy;
	struct buf tx; /* what has to be sent */
	size_t sent, written;
	uint8_t header[EP_HEADER];
	size_t header_len, left;
	enum ep_type type;
	uint8_t exit[4];
	size_t exit_len;
};

void run_start(struct guest *g, struct run *r);
/* The same for a script of ours, run by sh as root: its "$1" and "$2" are a and b, NULL: no more. */
void run_sh(struct guest *g, struct run *r, const char *script, const char *a, const char *b);
void run_cancel(struct run *r); /* ends it when it runs; done() is not called */
void run_fini(struct run *r);   /* the same, and frees what it holds */

/* For done(), when status is not 0: -1 and a sentence about it, what was to be fetched. to: what its output was written to;
 * silent: what to say when the command itself said nothing. */
int run_failed(const struct run *r, const char *to, const char *silent, struct err *e);

#endif
