/* execproto.h - records on an AP_OPEN_EXEC stream, spoken end to end by the command line and the guest agent.
 *
 * The host agent relays the bytes without reading them. A record is u8 type, u8 0, u16 length (LE), payload.
 *
 *   client → guest:  START (once, first), STDIN, STDIN_END, WINDOW, SIGNAL
 *   guest → client:  STDOUT, STDERR, then exactly one of EXIT, FAILED; then the stream ends
 *
 * The client closing the stream or resetting it ends the remote job with SIGHUP.
 */
#ifndef LIMA_EXECPROTO_H
#define LIMA_EXECPROTO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum ep_type {
	EP_START = 1,
	EP_STDIN,
	EP_STDIN_END,
	EP_WINDOW, /* u16 rows, u16 columns */
	EP_SIGNAL, /* u8 signal number (Linux numbering) */
	EP_STDOUT,
	EP_STDERR,
	EP_EXIT,   /* i32: exit code, or 128 + signal */
	EP_FAILED, /* text: why the command could not be started */
};

enum {
	EP_HEADER = 4,
	EP_PAYLOAD_MAX = 32 * 1024 - EP_HEADER, /* so that a record fits a mux frame */
	EP_START_MAX = 24 * 1024,
	EP_ARGS_MAX = 256,
	EP_ENV_MAX = 256,
};

/* A command to run. Strings point into the caller's memory (pack) or into the given bytes (unpack). */
struct ep_start {
	bool tty;
	bool as_root;     /* run as root instead of the instance's user */
	bool files;       /* no command, but the agent's own copying of files (guestagent/files.h): argv is for it */
	bool only_there;  /* do not run when workdir is not there; else silently at home */
	uint16_t rows, cols;
	const char *term;    /* TERM for a tty, "" otherwise */
	const char *workdir; /* "" = the user's home */
	const char *shell;   /* a path, or a name to be found in PATH; "" = the user's login shell */
	size_t argc;         /* 0 = an interactive login shell */
	const char *argv[EP_ARGS_MAX];
	size_t envc;
	const char *env[EP_ENV_MAX]; /* NAME=VALUE */
};

/* Bytes written to p (payload only), -1 when it does not fit. */
ssize_t ep_start_pack(const struct ep_start *s, uint8_t *p, size_t n);
/* The strings of *s point into p, which must outlive it. -1 when malformed. */
int ep_start_unpack(struct ep_start *s, const uint8_t *p, size_t n);

void ep_header_pack(uint8_t p[EP_HEADER], enum ep_type type, size_t len);
/* -1 when the type is unknown, the reserved byte is set or the length is beyond EP_PAYLOAD_MAX. */
int ep_header_unpack(const uint8_t p[EP_HEADER], enum ep_type *type, size_t *len);

#endif
