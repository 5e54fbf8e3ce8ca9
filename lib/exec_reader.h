/* exec_reader.h - takes the records of a client (lib/execproto.h) apart as they arrive: checks what may come when, and hands it
 * to whoever runs the command.
 */
#ifndef LIMA_EXEC_READER_H
#define LIMA_EXEC_READER_H

#include "lib/execproto.h"
#include "lib/mux.h"

/* Those with an int return 1: go on, 0: the reader is gone with whoever owns it, -1: the client breaks the protocol. */
struct ep_reader_ops {
	int (*start)(void *ctx, const struct ep_start *s); /* once, first; *s is valid during the call */
	/* Bytes for the command. Returns how many of n are done with; 0: it takes no more now. */
	size_t (*input)(void *ctx, const uint8_t *p, size_t n);
	void (*input_end)(void *ctx);
	void (*window)(void *ctx, uint16_t rows, uint16_t cols);
	void (*signal)(void *ctx, int number); /* 1 to 64 */
};

enum { EP_SMALL_RECORD = 16 };

/* All zero: nothing has come. */
struct ep_reader {
	uint8_t header[EP_HEADER];
	size_t header_len;
	enum ep_type type;
	size_t left;    /* payload bytes to come */
	uint8_t *start; /* START's payload while it comes in; owned */
	uint8_t small[EP_SMALL_RECORD];
	size_t have;    /* payload bytes collected in start or small */
	bool started;
};

/* 1: all that is there was taken, or the command takes no more now; 0 and -1 as above. */
int ep_reader_take(struct ep_reader *r, struct mux_stream *m, const struct ep_reader_ops *ops, void *ctx);
void ep_reader_free(struct ep_reader *r); /* what it owns */

#endif
