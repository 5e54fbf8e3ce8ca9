/* docker_conn.h - what a connection to docker.sock is besides a relay: its requests are followed, questions that change nothing
 * are held until they are whole, and answered from memory while the machine sleeps (recall.h).
 */
#ifndef LIMA_HOSTAGENT_DOCKER_CONN_H
#define LIMA_HOSTAGENT_DOCKER_CONN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/buf.h"
#include "limactl-c/hostagent/docker_api.h"
#include "limactl-c/hostagent/recall.h"
#include "limactl-c/hostagent/use.h"

struct docker_conn {
	struct docker_api api;
	struct recall *recall;   /* NULL: nothing is held */
	struct buf head;         /* of a request, until it is known what it is */
	struct buf late;         /* an answer from memory which the client has not taken yet */
	struct buf question, answer; /* the one under way, to be kept */
	uint64_t asked;          /* recall_asked() of it */
	bool asks;               /* a question is under way */
	bool quiet;              /* … that was asked before, so that it is no use of the guest */
	bool keeps;              /* … and its answer is collected */
	uint8_t *request;        /* for the stream, until there is something to say; else NULL */
	size_t request_len;
};

enum docker_step {
	DOCKER_MORE,   /* is needed */
	DOCKER_PASS,   /* head goes to the guest */
	DOCKER_RECALL, /* late is the answer */
};

struct docker_conn *docker_conn_new(struct recall *r);
void docker_conn_free(struct docker_conn *d); /* NULL is allowed */

/* Whether what the client says next goes into head, and then to docker_conn_judge(). */
bool docker_conn_holds(const struct docker_conn *d);
/* up: there is a link to the guest. */
enum docker_step docker_conn_judge(struct docker_conn *d, bool up);

/* Bytes pass; notes what of it is use. */
void docker_conn_asked(struct docker_conn *d, struct use *u, const void *p, size_t n);
void docker_conn_answered(struct docker_conn *d, struct use *u, const void *p, size_t n);
/* Bytes of the client go by unheld, so they are behind a question. */
void docker_conn_hurries(struct docker_conn *d);
void docker_conn_note(const struct docker_conn *d, struct use *u, enum use_kind kind);

#endif
