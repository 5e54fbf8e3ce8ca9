/* qmp.h - QEMU's control protocol: one JSON object a line, commands with ids, events in between.
 *
 * Never blocks and waits for nothing itself: the owner waits on the descriptor, then fills, takes messages, flushes.
 * What comes from QEMU is bounded and checked; a malformed line ends the connection.
 */
#ifndef LIMA_QMP_H
#define LIMA_QMP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/err.h"
#include "limactl-c/base/jsonx.h"

enum {
	QMP_LINE_MAX = 1 << 20,  /* bytes of one line from QEMU */
	QMP_QUEUE_MAX = 1 << 20, /* bytes of commands not yet sent */
};

struct qmp;

enum qmp_kind { QMP_GREETING, QMP_REPLY, QMP_EVENT };

struct qmp_msg {
	enum qmp_kind kind;
	uint64_t id;            /* REPLY: what qmp_send() returned; 0 when QEMU could not read the command */
	const char *name;       /* EVENT: "STOP" */
	const char *error;      /* REPLY: QEMU's sentence, or NULL when the command succeeded */
	const struct jx *data;  /* REPLY: what it returned; EVENT: its data, NULL when it has none */
};

struct qmp *qmp_new(int fd); /* takes a non-blocking stream socket; -1 for tests that use qmp_feed() */
void qmp_free(struct qmp *q); /* closes it; NULL is allowed */
int qmp_fd(const struct qmp *q);

/* Queues a command and returns its id, 0 when the queue is full. Takes args (may be NULL). pass, unless -1, travels
 * with it (duplicated here, so the caller's may be closed). */
uint64_t qmp_send(struct qmp *q, const char *command, struct jx *args, int pass);
bool qmp_has_output(const struct qmp *q);
int qmp_flush(struct qmp *q, struct err *e); /* sends what the socket takes; -1 when the connection is broken */

/* Reads once. 1: something came, 0: nothing is there, -1: the end or an error (e->kind ERR_NONE: orderly end). */
int qmp_fill(struct qmp *q, struct err *e);
int qmp_feed(struct qmp *q, const void *p, size_t n); /* bytes from elsewhere; -1 when they are too many */

/* 1 and a message (valid until the next call), 0 when no whole line is there, -1 when a line is not QMP. */
int qmp_next(struct qmp *q, struct qmp_msg *out, struct err *e);

#endif
