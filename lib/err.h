/* err.h - the error a failing call leaves for its caller.
 *
 * A function that can fail takes a struct err * as its last parameter and
 * returns 0 or a value on success, -1 or NULL on failure with *e filled in.
 * The struct lives on the caller's stack: nothing to free, nothing to leak.
 * Only main() prints an error; everyone else adds context and returns.
 */
#ifndef LIMA_ERR_H
#define LIMA_ERR_H

enum err_kind {
	ERR_NONE,
	ERR_SYS,      /* a system call failed; errnum says why */
	ERR_USAGE,    /* the command line is wrong */
	ERR_INVALID,  /* a file, a value or a peer's bytes are wrong */
	ERR_NOTFOUND, /* what was named is not there */
	ERR_EXISTS,   /* what should be made is there already */
	ERR_TIMEOUT,  /* a deadline passed */
	ERR_STATE,    /* not possible in the present state */
};

struct err {
	enum err_kind kind;
	int errnum; /* errno for ERR_SYS, else 0 */
	char msg[1000];
};

#define ERR_FMT(a, b) __attribute__((format(printf, a, b)))

/* Each returns -1, so that a caller may write `return err_set(...)`. */
int err_set(struct err *e, enum err_kind kind, const char *fmt, ...) ERR_FMT(3, 4);
int err_errno(struct err *e, const char *fmt, ...) ERR_FMT(2, 3); /* appends strerror(errno) */
int err_wrap(struct err *e, const char *fmt, ...) ERR_FMT(2, 3);  /* prepends "context: " */

#endif
